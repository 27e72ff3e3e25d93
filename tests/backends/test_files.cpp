// Files: reading, writing, listing, and never outside the mounts.
#include "harness.hpp"

#include <fstream>
#include <sys/stat.h>

using namespace berth;
using namespace berth::test;
namespace fs = std::filesystem;

namespace {

const std::string work = "/mnt/user-data/workspace/";

void put(const fs::path& path, const std::string& text) { std::ofstream{path, std::ios::binary} << text; }

std::string get(const fs::path& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

template <class T>
void refused(const caf::expected<T>& x, errc code, const std::string& path) {
  BOOST_REQUIRE(!x);
  BOOST_TEST(code_of(x.error()) == code, explain(x.error()));
  BOOST_TEST(context_of(x.error()).find(path) != std::string::npos, context_of(x.error()));
  BOOST_TEST(context_of(x.error()).find("/users/") == std::string::npos); // R5: never the host path
}

} // namespace

BOOST_AUTO_TEST_SUITE(files)

BOOST_DATA_TEST_CASE(w1_w4_written_text_is_read_back, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  BOOST_TEST(box.write(work + "deep/er/a.txt", "one\n")->size == 4);
  BOOST_TEST(box.write(work + "deep/er/a.txt", "two\n", true)->size == 8);
  BOOST_TEST(box.read(work + "deep/er/a.txt")->data.data == "one\ntwo\n");
  BOOST_TEST(box.write(work + "deep/er/a.txt", "three")->size == 5);
  BOOST_TEST(box.read(work + "/deep//er/./a.txt")->data.data == "three");
  BOOST_TEST(box.write(work + "new", "x", true)->size == 1);
  BOOST_TEST(box.write("/mnt/acp-workspace/b", "x")->size == 1);
  // A replaced file keeps its mode.
  fs::permissions(box.user_data() / "workspace/new", fs::perms{0750});
  BOOST_REQUIRE(box.write(work + "new", "y"));
  BOOST_TEST((fs::status(box.user_data() / "workspace/new").permissions() == fs::perms{0750}));
  BOOST_TEST(box.run("cat new").out.data == "y");
}

BOOST_DATA_TEST_CASE(fi1_files_of_any_size_are_whole_at_once, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  for (const std::size_t size : {0, 18 * 1024, 64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, 100 * 1024 * 1024}) {
    std::string text(size, 'x');
    for (std::size_t i = 0; i < size; i += 97)
      text[i] = static_cast<char>('a' + i % 26);
    BOOST_REQUIRE(box.write(work + "f", text));
    BOOST_REQUIRE(box.ask<file_written>(box.client, update_file{work + "g", {text}}));
    BOOST_TEST(box.run("cmp f g && stat -c %s f").out.data == std::to_string(size) + "\n");
    BOOST_CHECK(get(box.user_data() / "workspace/f") == text);
  }
}

BOOST_DATA_TEST_CASE(r1_to_r4_text_is_read_by_lines_and_must_be_text, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  put(box.user_data() / "workspace/crlf", "a\r\nb\rc\n\nd");
  BOOST_TEST(box.read(work + "crlf")->data.data == "a\nb\nc\n\nd");
  const auto lines = [&](optional<std::int64_t> first, optional<std::int64_t> last) {
    const auto x = box.ask<file_content>(box.client, read_file{work + "crlf", first, last});
    BOOST_REQUIRE(x);
    return x->data.data;
  };
  BOOST_TEST(lines(2, 3) == "b\nc");
  BOOST_TEST(lines(-4, 1) == "a");
  BOOST_TEST(lines(3, {}) == "c\n\nd");
  BOOST_TEST(lines(4, 4) == "");
  BOOST_TEST(lines(9, 12) == "");
  BOOST_TEST(lines(3, 2) == "");
  put(box.user_data() / "workspace/binary", "a\xff\xfe");
  refused(box.read(work + "binary"), errc::not_text, work + "binary");
  put(box.user_data() / "workspace/empty", "");
  BOOST_TEST(box.read(work + "empty")->data.data == "");
}

BOOST_DATA_TEST_CASE(r5_errors_name_the_path_as_requested, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  refused(box.read(work + "missing"), errc::path_missing, work + "missing");
  refused(box.read("/mnt/user-data/workspace"), errc::is_a_directory, "/mnt/user-data/workspace");
  refused(box.write("/mnt/user-data/workspace", "x"), errc::is_a_directory, "/mnt/user-data/workspace");
  put(box.user_data() / "workspace/file", "x");
  refused(box.read(work + "file/below"), errc::not_a_directory, work + "file/below");
  refused(box.write(work + "file/below", "x"), errc::not_a_directory, work + "file/below");
  refused(box.read("relative"), errc::invalid_argument, "relative");
  refused(box.read(""), errc::invalid_argument, "absolute");
  refused(box.read("/etc/passwd"), errc::permission_denied, "/etc/passwd");
  refused(box.write("/mnt/user-data-backup/x", "x"), errc::permission_denied, "/mnt/user-data-backup/x");
  refused(box.write(work + std::string(300, 'n'), "x"), errc::invalid_argument, "255");
  BOOST_REQUIRE(::mkfifo((box.user_data() / "workspace/fifo").c_str(), 0600) == 0);
  refused(box.read(work + "fifo"), errc::invalid_argument, work + "fifo"); // and at once
  refused(box.write(work + "fifo", "x"), errc::invalid_argument, work + "fifo");
  fs::resize_file(box.user_data() / "workspace/file", static_cast<std::uintmax_t>(file_cap) + 1);
  refused(box.read(work + "file"), errc::too_large, work + "file");
}

BOOST_DATA_TEST_CASE(fi3_odd_names_work, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  for (const auto& name : {std::string{"na\xc3\xafve \xe2\x98\x95.txt"}, std::string{"with 'quotes\" and\nline feed"},
                           std::string(255, 'n')}) {
    BOOST_REQUIRE(box.write(work + name, name));
    BOOST_TEST(box.read(work + name)->data.data == name);
    BOOST_TEST(box.list("/mnt/user-data/workspace")->entries == std::vector<std::string>{work + name});
    fs::remove(box.user_data() / "workspace" / name);
  }
}

BOOST_DATA_TEST_CASE(w6_d1_to_d6_bytes_go_in_and_out_unchanged, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  const std::string raw{"\0\xff/mnt/user-data/workspace\r\n", 28};
  BOOST_REQUIRE(box.ask<file_written>(box.client, update_file{work + "b", {raw}}));
  const auto get_bytes = [&](const std::string& path) {
    return box.ask<file_content>(box.client, download_file{path});
  };
  BOOST_TEST(get(box.user_data() / "workspace/b") == raw);
  BOOST_TEST(get_bytes(work + "b")->data.data == raw);
  BOOST_TEST(get_bytes("mnt\\user-data\\workspace\\b")->data.data == raw);
  refused(get_bytes("/mnt/acp-workspace/x"), errc::permission_denied, "/mnt/user-data");
  refused(get_bytes("/mnt/user-data-backup/x"), errc::permission_denied, "/mnt/user-data");
  put(box.user_data() / "workspace/empty", "");
  BOOST_TEST(get_bytes(work + "empty")->data.data.empty());
  put(box.user_data() / "workspace/large", "");
  fs::resize_file(box.user_data() / "workspace/large", static_cast<std::uintmax_t>(file_cap));
  BOOST_TEST(static_cast<std::int64_t>(get_bytes(work + "large")->data.data.size()) == file_cap);
  fs::resize_file(box.user_data() / "workspace/large", static_cast<std::uintmax_t>(file_cap) + 1);
  refused(get_bytes(work + "large"), errc::too_large, work + "large");
}

BOOST_DATA_TEST_CASE(w3_r6_r7_without_isolation_texts_name_host_paths_on_disk_only, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  const std::string text = "cat /mnt/user-data/workspace/x; ls /mnt/user-data-backup";
  BOOST_REQUIRE(box.write(work + "run.sh", text));
  BOOST_TEST(box.read(work + "run.sh")->data.data == text);
  const auto on_disk = get(box.user_data() / "workspace/run.sh");
  if (mode == isolation_mode::none)
    BOOST_TEST(on_disk == "cat " + fs::canonical(box.user_data()).string() + "/workspace/x; ls /mnt/user-data-backup");
  else
    BOOST_TEST(on_disk == text);
  // What a command made is returned untouched.
  const auto host = fs::canonical(box.user_data()).string();
  put(box.user_data() / "workspace/made", host);
  BOOST_TEST(box.read(work + "made")->data.data == host);
}

BOOST_DATA_TEST_CASE(fi2_k0318_to_k0322_links_that_lead_out_are_refused, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  temp_dir outside;
  put(outside.path() / "secret", "untouched");
  const auto host = box.user_data() / "workspace";
  fs::create_symlink(outside.path() / "secret", host / "link");
  fs::create_symlink(outside.path(), host / "dir");
  fs::create_symlink("../../../../../../../../../etc", host / "up");
  fs::create_symlink("loop", host / "loop");
  for (const std::string path : {"link", "dir/secret", "up/passwd", "loop", "../../../x"}) {
    refused(box.read(work + path), errc::permission_denied, work + path); // K0318
    refused(box.ask<file_content>(box.client, download_file{work + path}), errc::permission_denied,
            work + path);                                                                 // K0319
    refused(box.write(work + path, "overwritten"), errc::permission_denied, work + path); // K0320
    refused(box.write(work + path, "appended", true), errc::permission_denied, work + path);
  }
  refused(box.list(work + "dir"), errc::permission_denied, work + "dir");
  BOOST_TEST(get(outside.path() / "secret") == "untouched");
  BOOST_TEST(box.list("/mnt/user-data/workspace")->entries.empty()); // K0322: not listed, not followed
}

BOOST_DATA_TEST_CASE(fi2_real_links_inside_the_mounts_work, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  BOOST_REQUIRE(box.write("/mnt/user-data/outputs/d/real", "text"));
  // Relative, and absolute as a command inside makes them.
  box.run("ln -s ../outputs/d/real rel; ln -s /mnt/user-data/outputs/d/real abs; ln -s /mnt/user-data/outputs/d dir; "
          "ln -s /mnt/acp-workspace acp");
  for (const std::string path : {"rel", "abs", "dir/real"}) {
    BOOST_TEST(box.read(work + path)->data.data == "text");
    BOOST_REQUIRE(box.write(work + path, "text"));
    BOOST_REQUIRE(box.write(work + path, "", true));
  }
  BOOST_TEST(fs::is_symlink(box.user_data() / "workspace/rel")); // written through, not replaced
  BOOST_REQUIRE(box.write(work + "acp/x", "there"));
  BOOST_TEST(box.read("/mnt/acp-workspace/x")->data.data == "there");
  BOOST_TEST(box.list(work + "dir")->entries == std::vector<std::string>{work + "dir/real"});
}

BOOST_DATA_TEST_CASE(w2_k0321_below_a_read_only_bind_nothing_is_written, both_modes, mode) {
  BERTH_NEEDS(mode);
  temp_dir bind;
  const auto root = fs::canonical(bind.path());
  put(root / "tool", "v1");
  sandbox box{mode, [&](local_options& o) { o.extra_binds.push_back(root); }};
  fs::create_symlink("/mnt/user-data/workspace/target", root / "link");
  put(box.user_data() / "workspace/target", "safe");
  BOOST_TEST(box.read((root / "tool").string())->data.data == "v1");
  BOOST_TEST(box.run("cat " + (root / "tool").string()).out.data == "v1");
  refused(box.write((root / "tool").string(), "v2"), errc::read_only, "tool");
  refused(box.write((root / "link").string(), "v2"), errc::read_only, "link");
  refused(box.write((root / "link").string(), "v2", true), errc::read_only, "link");
  BOOST_TEST(get(root / "tool") == "v1");
  BOOST_TEST(get(box.user_data() / "workspace/target") == "safe");
}

BOOST_DATA_TEST_CASE(l1_to_l8_listings, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  const auto host = box.user_data() / "workspace";
  fs::create_directories(host / "b/c/d");
  fs::create_directories(host / "node_modules/x");
  put(host / "a.txt", "");
  put(host / "skip.log", "");
  put(host / "b/e.txt", "");
  put(host / "b/c/f.txt", "");
  fs::create_symlink("a.txt", host / "to-file");
  fs::create_symlink("b", host / "to-dir");
  fs::create_symlink("nowhere", host / "broken");
  using list = std::vector<std::string>;
  BOOST_TEST(box.list(work, 1)->entries
             == (list{work + "a.txt", work + "b/", work + "broken", work + "to-dir/", work + "to-file"}));
  BOOST_TEST(box.list("/mnt/user-data/workspace")->entries
             == (list{work + "a.txt", work + "b/", work + "b/c/", work + "b/e.txt", work + "broken", work + "to-dir/",
                      work + "to-file"}));
  BOOST_TEST(box.list(work + "b", 3)->entries
             == (list{work + "b/c/", work + "b/c/d/", work + "b/c/f.txt", work + "b/e.txt"}));
  BOOST_TEST(box.list(work + "node_modules", 1)->entries
             == list{work + "node_modules/x/"}); // names below the root only
  BOOST_TEST(box.list(work, 0)->entries.empty());
  refused(box.list(work, -1), errc::invalid_argument, "max_depth");
  refused(box.list(work + "missing"), errc::path_missing, work + "missing");
  refused(box.list(work + "a.txt"), errc::not_a_directory, work + "a.txt"); // L7: missing is only what is missing
  BOOST_TEST(box.list("/mnt", 1)->entries == (list{"/mnt/acp-workspace/", "/mnt/user-data/"}));
  BOOST_TEST(box.list("/mnt/user-data", 1)->entries
             == (list{"/mnt/user-data/outputs/", "/mnt/user-data/uploads/", "/mnt/user-data/workspace/"}));
}

BOOST_DATA_TEST_CASE(what_is_not_supported_yet_says_so, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  const auto glob = box.ask<glob_answer>(box.client, glob_files{work, "*", false, 10});
  BOOST_REQUIRE(!glob);
  BOOST_TEST(code_of(glob.error()) == errc::unsupported);
  BOOST_TEST(context_of(glob.error()).find("glob_files") != std::string::npos);
}

BOOST_DATA_TEST_CASE(what_is_no_file_and_what_is_a_loop_is_told_as_such, both_modes, mode) {
  BERTH_NEEDS(mode);
  sandbox box{mode};
  BOOST_REQUIRE(box.run("ln -s b a; ln -s a b; mkfifo fifo; python3 -c 'import socket; "
                        "socket.socket(socket.AF_UNIX).bind(\"sock\")'")
                    .status.code
                == 0);
  for (const std::string name : {"fifo", "sock"}) {
    refused(box.read(work + name), errc::invalid_argument, work + name + "' is not a regular file");
    refused(box.write(work + name, "x"), errc::invalid_argument, work + name + "' is not a regular file");
    refused(box.list(work + name), errc::not_a_directory, work + name);
  }
  refused(box.read(work + "a"), errc::permission_denied, work + "a' leads into a loop");
  refused(box.list(work + "a"), errc::permission_denied, work + "a' leads into a loop");
}

BOOST_AUTO_TEST_SUITE_END()
