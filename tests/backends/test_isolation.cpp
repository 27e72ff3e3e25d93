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

BOOST_AUTO_TEST_SUITE_END()
