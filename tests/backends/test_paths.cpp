// Virtual and host paths in text (spec: contract.md section 8).
#include <boost/test/unit_test.hpp>

#include "backends/local/paths.hpp"

using namespace berth::local;

namespace {

std::shared_ptr<const path_map> make_map() {
  return std::make_shared<const path_map>(std::vector<mount>{{"/mnt/user-data", "/data/u/user-data", false},
                                                             {"/mnt/skills", "/data/skills", true},
                                                             {"/mnt/skills/own", "/data/u/own", false},
                                                             {"/opt/tool", "/opt/tool", true}});
}

} // namespace

BOOST_AUTO_TEST_SUITE(paths)

BOOST_AUTO_TEST_CASE(k0302_k0303_a_mount_is_read_write_unless_said_otherwise) {
  const mount m{"/mnt/a", "/data/a"};
  BOOST_TEST(!m.read_only);
  BOOST_TEST(find_mount(make_map()->mounts(), "/mnt/skills/x")->read_only); // K0301
  BOOST_TEST(!find_mount(make_map()->mounts(), "/mnt/user-data/workspace")->read_only);
}

BOOST_AUTO_TEST_CASE(p1_k0300_k0304_k0306_k0307_the_longest_mount_wins_at_a_segment_boundary) {
  const auto map = make_map();
  BOOST_TEST(map->to_host("/mnt/user-data") == "/data/u/user-data");
  BOOST_TEST(map->to_host("/mnt/user-data/workspace/a") == "/data/u/user-data/workspace/a");
  BOOST_TEST(map->to_host("/mnt/skills/x") == "/data/skills/x");
  BOOST_TEST(map->to_host("/mnt/skills/own/x") == "/data/u/own/x");
  BOOST_TEST(map->to_host("/mnt/skills/owner") == "/data/skills/owner");
  BOOST_TEST(map->to_host("/mnt/skills-extra/x") == "/mnt/skills-extra/x"); // K0294
  BOOST_TEST(map->to_host("/mnt") == "/mnt");
  BOOST_TEST(map->to_host("/etc/passwd") == "/etc/passwd");
}

BOOST_AUTO_TEST_CASE(p2_a_mount_on_the_root_matches_last) {
  const path_map map{{{"/", "/data/root", false}, {"/mnt/a", "/data/a", false}}};
  BOOST_TEST(map.to_host("/etc/x") == "/data/root/etc/x");
  BOOST_TEST(map.to_host("/") == "/data/root");
  BOOST_TEST(map.to_host("/mnt/a/x") == "/data/a/x");
  BOOST_TEST(below_mount(map.mounts()[0], "/etc/x") == "etc/x");
  BOOST_TEST(below_mount(map.mounts()[0], "/") == ".");
}

BOOST_AUTO_TEST_CASE(k0308_k0309_host_paths_lead_back) {
  const auto map = make_map();
  BOOST_TEST(map->to_virtual("/data/u/user-data") == "/mnt/user-data");
  BOOST_TEST(map->to_virtual("/data/u/own/a/b") == "/mnt/skills/own/a/b");
  BOOST_TEST(map->to_virtual("/elsewhere") == "/elsewhere");
}

BOOST_AUTO_TEST_CASE(x42_k0332_a_command_names_host_paths) {
  const auto map = make_map();
  BOOST_TEST(map->command_to_host("cat /mnt/user-data/a.txt '/mnt/user-data/b'; ls /mnt/user-data|wc>/mnt/user-data/c")
             == "cat /data/u/user-data/a.txt '/data/u/user-data/b'; ls /data/u/user-data|wc>/data/u/user-data/c");
  BOOST_TEST(map->command_to_host("ls /mnt/user-data") == "ls /data/u/user-data");
  BOOST_TEST(map->command_to_host("ls /mnt/skills/own /mnt/skills") == "ls /data/u/own /data/skills");
  for (const std::string same :
       {"ls /mnt/user-data-backup/x", "ls /mnt/user-data.old", "ls /mnt/user-database", "ls /opt/tool"})
    BOOST_TEST(map->command_to_host(same) == same); // P23, K0294
  BOOST_TEST((map->paths_in_command("a /mnt/user-data/../x b=/mnt/skills;c")
              == std::vector<std::string>{"/mnt/user-data/../x", "/mnt/skills"}));
}

BOOST_AUTO_TEST_CASE(p20_k0295_k0297_k0298_host_roots_in_output_become_virtual) {
  const auto map = make_map();
  BOOST_TEST(map->text_to_virtual("at /data/u/user-data/workspace/a: ok") == "at /mnt/user-data/workspace/a: ok");
  BOOST_TEST(map->text_to_virtual("in /data/u/user-data") == "in /mnt/user-data");    // P22, K0298
  for (const std::string after : {",", ":", "\\", "\"", "'", ")", " ", "\n", "/x y"}) // K0297
    BOOST_TEST(map->text_to_virtual("/data/skills" + after) == "/mnt/skills" + after);
  BOOST_TEST(map->text_to_virtual("/data/skills:/data/u/own,/data/skills")
             == "/mnt/skills:/mnt/skills/own,/mnt/skills");
}

BOOST_AUTO_TEST_CASE(p23_k0296_siblings_with_the_same_prefix_stay_in_both_directions) {
  const auto map = make_map();
  for (const std::string suffix : {"-extra", "2", ".bak", "foo", "_backup"}) {
    BOOST_TEST(map->text_to_virtual("/data/skills" + suffix + "/x") == "/data/skills" + suffix + "/x");
    BOOST_TEST(map->text_to_host("/mnt/skills" + suffix + "/x") == "/mnt/skills" + suffix + "/x");
  }
}

BOOST_AUTO_TEST_CASE(p21_the_longest_host_root_is_tried_first) {
  const path_map map{{{"/mnt/a", "/d", false}, {"/mnt/b", "/d/deep", false}}};
  BOOST_TEST(map.text_to_virtual("/d/deep/x /d/other /d") == "/mnt/b/x /mnt/a/other /mnt/a");
}

BOOST_AUTO_TEST_CASE(w3_text_with_virtual_roots_becomes_host_text) {
  const auto map = make_map();
  BOOST_TEST(map->text_to_host("open(\"/mnt/user-data/x\")\n# /mnt/user-data\n/mnt/user-data")
             == "open(\"/data/u/user-data/x\")\n# /data/u/user-data\n/data/u/user-data");
}

BOOST_AUTO_TEST_CASE(a_stream_is_translated_the_same_however_it_is_cut) {
  const auto map = make_map();
  const std::string text = "x /data/u/user-data/a /data/skills-extra /data/skills\n/data/u/own, /data//data/skills/ "
                           "/data/u/user-data.old /data/u/user-dat";
  const auto whole = map->text_to_virtual(text);
  for (std::size_t first = 0; first <= text.size(); ++first)
    for (std::size_t second = first; second <= text.size(); ++second) {
      stream_translator stream{map};
      auto out = stream.feed(std::string_view{text}.substr(0, first));
      out += stream.feed(std::string_view{text}.substr(first, second - first));
      out += stream.feed(std::string_view{text}.substr(second));
      out += stream.finish();
      BOOST_REQUIRE(out == whole);
    }
}

BOOST_AUTO_TEST_CASE(paths_are_tidied_without_touching_dots_that_climb) {
  BOOST_TEST(tidy("//mnt/./user-data//x/") == "/mnt/user-data/x");
  BOOST_TEST(tidy("/mnt/../x") == "/mnt/../x");
  BOOST_TEST(tidy("/") == "/");
}

BOOST_AUTO_TEST_SUITE_END()
