#include "tools/berth/options.hpp"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iostream>

#include <CLI/CLI.hpp>

#include "actors/scope.hpp"
#include "runtime/version.hpp"
#include "tools/berth/output.hpp"

namespace berth::cli {

namespace {

constexpr std::int64_t largest_cap = 1024 * 1024 * 1024;
constexpr double longest_timeout = 31'536'000; // a year, as in the configuration

// What CLI11 fills; the checked form is `options`.
struct raw_options {
  std::string config_file, node, data_dir, level, target, scope, timeout, lines, content, path, cap;
  std::vector<std::string> env;
  bool version = false;
};

bool is_id(const std::string& text) {
  return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

bool needs_scope(command what) { return what == command::run || what == command::acquire; }
bool takes_command(command what) { return what == command::run || what == command::exec; }

caf::error usage(std::string what) { return make_error(errc::invalid_argument, std::move(what)); }

caf::error check_target(const raw_options& raw, options& to) {
  if (raw.scope.empty() && raw.target.empty())
    return usage(needs_scope(to.what) ? "which sandbox? give --scope USER/THREAD"
                                      : "which sandbox? give its ID or --scope USER/THREAD");
  if (!raw.scope.empty() && !raw.target.empty())
    return usage("'" + raw.target + "' is one word too many: --scope names the sandbox"
                 + (takes_command(to.what) ? ", and the command follows after --" : ""));
  // A scope may also be given where an id may: it is the one with a slash.
  if (!raw.scope.empty() || needs_scope(to.what) || !is_id(raw.target)) {
    const auto& text = raw.scope.empty() ? raw.target : raw.scope;
    if (raw.scope.empty() && !needs_scope(to.what) && text.find('/') == std::string::npos)
      return make_error(errc::invalid_scope,
                        "neither an ID (16 hex digits, printed by 'berth acquire') nor a scope written USER/THREAD");
    auto owner = parse_scope(text);
    if (!owner)
      return owner.error();
    to.who.id = id_of(*owner);
    to.who.owner = std::move(*owner);
    return {};
  }
  to.who.id = {raw.target};
  return {};
}

bool is_variable_name(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && letter(name[0])
         && std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

// Never repeats what was given: it may hold a secret.
caf::error check_env(const raw_options& raw, options& to) {
  for (const auto& entry : raw.env) {
    const auto split = entry.find('=');
    if (split == std::string::npos)
      return usage("--env: one of the values has no '='; write NAME=VALUE");
    if (!is_variable_name(std::string_view{entry}.substr(0, split)))
      return usage("--env: the name before '=' must match [A-Za-z_][A-Za-z0-9_]*");
    to.env.values[entry.substr(0, split)] = entry.substr(split + 1);
  }
  return {};
}

// `A:B`, `A:`, `:B` or `A`, lines from 1.
caf::error check_lines(const std::string& text, options& to) {
  const auto refuse = [&] { return usage("--lines: '" + text + "' is not A:B, A:, :B or A with 1 <= A <= B"); };
  const auto number = [](std::string_view s, std::optional<std::int64_t>& at) {
    std::int64_t value = 0;
    const auto [end, failed] = std::from_chars(s.data(), s.data() + s.size(), value);
    if (failed != std::errc{} || end != s.data() + s.size() || value < 1)
      return false;
    at = value;
    return true;
  };
  const std::string_view all{text};
  const auto colon = all.find(':');
  if (colon == std::string_view::npos) {
    if (!number(all, to.first_line))
      return refuse();
    to.last_line = to.first_line;
    return {};
  }
  const auto first = all.substr(0, colon);
  const auto last = all.substr(colon + 1);
  if ((first.empty() && last.empty()) || (!first.empty() && !number(first, to.first_line))
      || (!last.empty() && !number(last, to.last_line))
      || (to.first_line && to.last_line && *to.last_line < *to.first_line))
    return refuse();
  return {};
}

caf::error check_global(const raw_options& raw, const CLI::App& app, options& to) {
  const auto keep = [&](const char* flag, const std::string& value, std::optional<std::string>& at) {
    if (app.count(flag) > 0)
      at = value;
  };
  keep("--config", raw.config_file, to.config_file);
  keep("--node", raw.node, to.node);
  keep("--data-dir", raw.data_dir, to.data_dir);
  if (to.node && to.embedded)
    return usage("--node and --embedded exclude each other");
  if (to.data_dir && to.data_dir->empty())
    return usage("--data-dir: the name of a directory is missing");
  if (to.node) {
    const auto at = parse_endpoint(*to.node);
    if (!at || at->port == 0)
      return usage("--node: '" + *to.node + "' is not HOST:PORT with a port between 1 and 65535");
    if (!is_loopback(at->host))
      return usage("--node: '" + at->host + "' is no loopback address; nodes are reached on this machine only");
  }
  if (app.count("--log-level") > 0) {
    for (const auto level :
         {log_level::trace, log_level::debug, log_level::info, log_level::warning, log_level::error, log_level::off})
      if (to_string(level) == raw.level)
        to.level = level;
    if (!to.level)
      return usage("--log-level: '" + raw.level + "' is not trace, debug, info, warning, error or off");
  }
  return {};
}

caf::error check(const raw_options& raw, const CLI::App& app, const std::vector<std::string>& words, bool has_words,
                 options& to) {
  if (auto e = check_global(raw, app, to))
    return e;
  const auto& sub = *app.get_subcommands().front();
  if (to.what == command::node && to.node)
    return usage("--node names a running node to talk to; where 'berth node' itself listens is the key node.listen");
  if (to.what != command::node && to.what != command::list && to.what != command::status && to.what != command::config)
    if (auto e = check_target(raw, to))
      return e;
  if (has_words && !takes_command(to.what))
    return usage("'berth " + sub.get_name() + "' takes no command after --");
  if (takes_command(to.what)) {
    if (words.empty() || (words.size() == 1 && words[0].empty()))
      return usage("there is no command; write it after --, such as: berth " + sub.get_name()
                   + " --scope USER/THREAD -- ls -l");
    to.shell_command = join_words(words);
    if (sub.count("--timeout") > 0) {
      auto limit = parse_timeout_ms(raw.timeout);
      if (!limit)
        return limit.error();
      to.timeout_ms = *limit;
    }
    if (sub.count("--output-cap") > 0) {
      std::int64_t cap = 0;
      const auto* end = raw.cap.data() + raw.cap.size();
      if (const auto [stop, failed] = std::from_chars(raw.cap.data(), end, cap);
          failed != std::errc{} || stop != end || cap < 0 || cap > largest_cap)
        return usage("--output-cap: '" + raw.cap + "' is not a number of bytes between 0 and "
                     + std::to_string(largest_cap));
      to.output_cap = cap;
    }
    if (auto e = check_env(raw, to))
      return e;
  }
  if (to.raw_bytes && sub.count("--lines") > 0)
    return usage("--bytes and --lines exclude each other: only text has lines");
  if (to.what == command::read && sub.count("--lines") > 0)
    if (auto e = check_lines(raw.lines, to))
      return e;
  if (to.what == command::write && sub.count("--content") > 0)
    to.content = raw.content;
  to.path = raw.path;
  const auto takes_path = to.what == command::read || to.what == command::write || to.what == command::ls;
  if (takes_path && to.path.empty())
    return usage("PATH is missing: an absolute one in the sandbox, such as /mnt/user-data/workspace");
  if (takes_path && !to.path.starts_with('/'))
    return usage("PATH: '" + to.path
                 + "' is not absolute; paths are the sandbox's own, such as /mnt/user-data/workspace");
  return {};
}

void add_global(CLI::App& app, raw_options& raw, options& to) {
  app.add_option("--config", raw.config_file, "The configuration file; default: $BERTH_CONFIG, else built-in defaults")
      ->type_name("FILE");
  app.add_option("--node", raw.node, "The node to talk to; default: the one configured, if it runs")
      ->type_name("HOST:PORT");
  app.add_option("--data-dir", raw.data_dir, "Overrides sandbox.local.data_dir")->type_name("DIR");
  app.add_flag("--embedded", to.embedded, "Never look for a node; bring one for this command alone");
  app.add_flag("--json", to.json, "Answer with one JSON document on standard output");
  app.add_option("--log-level", raw.level,
                 "trace, debug, info, warning, error or off; default: as configured for "
                 "'berth node', else error")
      ->type_name("LEVEL");
  app.add_flag("--version", raw.version, "Print the version and exit");
}

void add_commands(CLI::App& app, raw_options& raw, options& to) {
  const auto add = [&](const char* name, command what, const char* help) {
    auto* sub = app.add_subcommand(name, help);
    sub->fallthrough();
    sub->callback([&to, what] { to.what = what; });
    return sub;
  };
  const auto with_target = [&](CLI::App* sub, const char* placeholder) {
    sub->add_option("--scope", raw.scope, "Whose sandbox")->type_name("USER/THREAD");
    sub->add_option("target", raw.target, "The sandbox, by ID or by USER/THREAD")->type_name(placeholder);
    return sub;
  };
  const auto with_command = [&](CLI::App* sub) {
    sub->add_option("--timeout", raw.timeout, "Kill the command after that long (status 124); default: as configured")
        ->type_name("SECONDS");
    sub->add_option("--env", raw.env, "A variable for this command; may be repeated")
        ->type_name("NAME=VALUE")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    sub->add_option("--output-cap", raw.cap, "Show at most that much of each stream; default: 10485760")
        ->type_name("BYTES");
    sub->footer("The command follows after --. One word is a shell command as it is; several are quoted and joined.");
  };
  add("node", command::node, "Run a node that others talk to, until SIGINT or SIGTERM");
  auto* run = with_target(add("run", command::run, "Acquire, run a command with its output streamed, release"), "");
  with_command(run);
  run->add_flag("--trace", to.trace, "Afterwards, print what the actors said to each other to standard error");
  with_target(add("acquire", command::acquire, "Make the sandbox of a scope ready"), "");
  with_target(add("release", command::release, "Give a sandbox back; it stays warm for its scope"), "");
  with_target(add("destroy", command::destroy, "Stop and remove a sandbox; the files of its user stay"), "");
  add("list", command::list, "The sandboxes of a node");
  add("status", command::status, "A node at a glance");
  with_command(with_target(add("exec", command::exec, "Run a command in an acquired sandbox"), ""));
  // Where --scope names the sandbox, the only positional is the path.
  auto* read = with_target(add("read", command::read, "Print a file of a sandbox"), "");
  read->add_option("path", raw.path, "Absolute path in the sandbox");
  read->add_option("--lines", raw.lines, "Only these lines, from 1, both included")->type_name("A:B");
  read->add_flag("--bytes", to.raw_bytes, "The whole file as it is, text or not; below /mnt/user-data only");
  auto* write = with_target(add("write", command::write, "Write a file in a sandbox, from standard input"), "");
  write->add_option("path", raw.path, "Absolute path in the sandbox");
  write->add_flag("--append", to.append, "Add at the end");
  write->add_option("--content", raw.content, "The text, instead of standard input")->type_name("TEXT");
  auto* ls = with_target(add("ls", command::ls, "List a directory of a sandbox"), "");
  ls->add_option("path", raw.path, "Absolute path in the sandbox");
  ls->add_option("--depth", to.depth, "How many levels")
      ->type_name("N")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  add("config", command::config, "The reference of all configuration keys, as YAML with every default");
}

// `read --scope USER/THREAD PATH`: the only positional is the path, though the target's place comes first.
void settle_positionals(const CLI::App& sub, raw_options& raw) {
  if (raw.scope.empty() || sub.get_option_no_throw("path") == nullptr || sub.count("path") > 0)
    return;
  raw.path = std::exchange(raw.target, {});
}

} // namespace

std::string join_words(const std::vector<std::string>& words) {
  if (words.size() == 1)
    return words[0];
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,";
  std::string result;
  for (const auto& word : words) {
    if (!result.empty())
      result += ' ';
    // The first word must not become an assignment or, by being empty, vanish.
    const auto as_is = !word.empty() && word.find_first_not_of(plain) == std::string::npos
                       && (!result.empty() || word.find('=') == std::string::npos);
    if (as_is) {
      result += word;
      continue;
    }
    result += '\'';
    for (const char c : word)
      result += c == '\'' ? std::string{"'\\''"} : std::string(1, c);
    result += '\'';
  }
  return result;
}

caf::expected<std::int64_t> parse_timeout_ms(const std::string& text) {
  const auto refuse = [&] {
    return usage("--timeout: '" + text + "' is not a number of seconds between 0.001 and 31536000");
  };
  // Digits and a point only: strtod would also read hex, blanks, inf and nan.
  if (text.empty() || text.find_first_not_of("0123456789.") != std::string::npos)
    return refuse();
  char* end = nullptr;
  const auto seconds = std::strtod(text.c_str(), &end);
  if (*end != '\0' || end == text.c_str() || !(seconds >= 0.001 && seconds <= longest_timeout))
    return refuse();
  return static_cast<std::int64_t>(std::llround(seconds * 1000));
}

parsed parse(int argc, char** argv) {
  parsed result;
  raw_options raw;
  auto& to = result.values;
  std::vector<std::string> words;
  int own = argc; // arguments before `--`
  for (int i = 1; i < argc; ++i)
    if (std::string_view{argv[i]} == "--") {
      own = i;
      words.assign(argv + i + 1, argv + argc);
      break;
    }
  CLI::App app{"Leases sandboxes to AI agents."};
  app.name("berth");
  app.require_subcommand(0, 1);
  add_global(app, raw, to);
  add_commands(app, raw, to);
  const auto complain = [&](const std::string& name, const caf::error& e) {
    print_error(to.json, e);
    result.exit_status = name == "run" || name == "exec" ? 125 : 2;
    return result;
  };
  const auto named = [&]() -> std::string {
    const auto subs = app.get_subcommands();
    return subs.empty() ? std::string{} : subs.front()->get_name();
  };
  try {
    app.parse(own, argv);
  } catch (const CLI::CallForHelp&) {
    const auto subs = app.get_subcommands();
    result.exit_status = print_text(subs.empty() ? app.help() : subs.front()->help("berth"));
    return result;
  } catch (const CLI::ParseError& e) {
    for (int i = 1; i < own; ++i)
      to.json = to.json || std::string_view{argv[i]} == "--json";
    return complain(named(), usage(std::string{e.what()} + " (see berth --help)"));
  }
  if (raw.version) {
    result.exit_status = print_text("berth " + std::string{version()} + "\n");
    return result;
  }
  if (app.get_subcommands().empty())
    return complain({}, usage("which subcommand? see berth --help"));
  settle_positionals(*app.get_subcommands().front(), raw);
  if (auto e = check(raw, app, words, own < argc, to))
    return complain(named(), e);
  return result;
}

} // namespace berth::cli
