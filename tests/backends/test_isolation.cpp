// What a command that is isolated by bubblewrap cannot reach, also as root.
#include "harness.hpp"

using namespace berth;
using namespace berth::test;

BOOST_AUTO_TEST_SUITE(isolated)

BOOST_AUTO_TEST_CASE(the_settings_of_the_kernel_cannot_be_written) {
  BERTH_NEEDS(isolation_mode::bubblewrap);
  sandbox box{isolation_mode::bubblewrap};
  // As root on the host, root owns these files inside: only the mount keeps them.
  const auto found = box.run("find /proc/sys -type f -writable | wc -l");
  BOOST_TEST(found.out.data == "0\n");
  const auto x = box.run("f=/proc/sys/vm/swappiness; v=$(cat $f) && echo read && echo $v > $f");
  BOOST_TEST(x.out.data == "read\n");
  BOOST_TEST(x.status.code != 0);
  const auto refused = x.err.data.find("Read-only file system") != std::string::npos
                       || x.err.data.find("ermission denied") != std::string::npos;
  BOOST_TEST(refused, x.err.data);
}

BOOST_AUTO_TEST_CASE(nothing_else_of_the_kernel_is_writable_and_its_secrets_are_covered) {
  BERTH_NEEDS(isolation_mode::bubblewrap);
  sandbox box{isolation_mode::bubblewrap};
  BOOST_TEST(box.run("find /proc /sys -path '/proc/[0-9]*' -prune -o -type f -writable -exec test -f {} ';' -print "
                     "2>/dev/null")
                 .out.data
             == "");
  BOOST_TEST(box.run("for f in kcore keys kmsg timer_list; do head -c1 /proc/$f; done 2>/dev/null").out.data == "");
  BOOST_TEST(box.run("ls /sys 2>/dev/null").out.data == "");
  BOOST_TEST(box.run("cat /proc/self/comm").out.data == "cat\n"); // of itself it sees and writes what it needs
}

BOOST_DATA_TEST_CASE(a_bind_that_hides_what_a_sandbox_is_made_of_is_refused_by_name, both_modes, mode) {
  temp_dir data;
  test_config config;
  caf::actor_system system{config};
  std::filesystem::create_directories(data.path() / "users");
  for (const std::filesystem::path& bind :
       {std::filesystem::path{"/"}, std::filesystem::path{"/proc"}, std::filesystem::path{"/proc/sys/"},
        std::filesystem::path{"/dev"}, std::filesystem::path{"/run"}, std::filesystem::path{"/mnt"},
        data.path() / "users", data.path(), data.path().parent_path()}) {
    auto options = options_for(mode, data.path());
    options.extra_binds = {bind};
    const auto backend = spawn_local_backend(system, options);
    BOOST_REQUIRE_MESSAGE(!backend, bind.string());
    BOOST_TEST(code_of(backend.error()) == errc::config_invalid);
    BOOST_TEST(context_of(backend.error()).find("bind '" + bind.string() + "' is not allowed") != std::string::npos,
               context_of(backend.error()));
  }
}

BOOST_DATA_TEST_CASE(a_program_that_only_ends_well_is_refused_at_the_start, both_modes, mode) {
  BERTH_NEEDS(mode);
  temp_dir data;
  test_config config;
  caf::actor_system system{config};
  auto options = options_for(mode, data.path());
  options.guest = "/bin/true";
  const auto no_guest = spawn_local_backend(system, options);
  BOOST_REQUIRE(!no_guest);
  BOOST_TEST(code_of(no_guest.error()) == errc::config_invalid);
  BOOST_TEST(context_of(no_guest.error()).find("supervisor") != std::string::npos);
  if (mode == isolation_mode::none)
    return;
  options.guest.clear();
  options.bwrap = "/bin/true";
  const auto no_bwrap = spawn_local_backend(system, options);
  BOOST_REQUIRE(!no_bwrap);
  BOOST_TEST(code_of(no_bwrap.error()) == errc::unsupported);
  BOOST_TEST(context_of(no_bwrap.error()).find("without starting") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
