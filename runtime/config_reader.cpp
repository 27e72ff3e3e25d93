// Reading YAML into a config: one walk over the document that collects every problem on its way.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include <yaml-cpp/yaml.h>

#include "runtime/config_keys.hpp"

namespace berth {

namespace {

using detail::key;

// A configuration is a page of text; more is another file given by mistake.
constexpr std::size_t largest_file = 1 << 20;
constexpr std::size_t longest_shown = 60;

// A found value as error texts show it: short, on one line.
std::string in_quotes(std::string_view found) {
  std::string result = "'";
  for (const char c : found.substr(0, longest_shown)) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      result += '?';
    else
      result += c;
  }
  return result + (found.size() > longest_shown ? "...'" : "'");
}

std::string noun_of(const YAML::Node& node) {
  switch (node.Type()) {
  case YAML::NodeType::Map:
    return "a mapping";
  case YAML::NodeType::Sequence:
    return "a list";
  default:
    return "an empty value";
  }
}

// The whole text as a finite number, or nothing: no hexadecimal, no trailing unit, no infinity.
std::optional<double> number(std::string_view text) {
  if (text.starts_with('+'))
    text.remove_prefix(1);
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

bool is_variable_name(std::string_view x) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !x.empty() && letter(x[0])
         && std::all_of(x.begin(), x.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

class reader {
public:
  explicit reader(std::string_view name) : name_(name) {}

  caf::expected<config> read(std::string_view text) {
    try {
      // All documents, so that a second one is refused and not ignored.
      const auto documents = YAML::LoadAll(std::string{text});
      if (documents.size() > 1)
        problem(documents[1].Mark(), "one document is expected, found " + std::to_string(documents.size()));
      else if (documents.size() == 1 && !documents[0].IsNull())
        walk(documents[0], "");
    } catch (const YAML::Exception& e) {
      problem(e.mark, "not valid YAML: " + e.msg);
    }
    if (problems_.empty())
      return std::move(result_);
    return make_error(errc::config_invalid, report());
  }

private:
  void problem(const YAML::Mark& at, const std::string& what) {
    std::string where = name_;
    if (at.line >= 0)
      where += ":" + std::to_string(at.line + 1) + ":" + std::to_string(at.column + 1);
    problems_.push_back(where + ": " + what);
  }

  std::string report() const {
    if (problems_.size() == 1)
      return problems_[0];
    auto text = std::to_string(problems_.size()) + " problems";
    for (const auto& line : problems_)
      text += "\n  " + line;
    return text;
  }

  void walk(const YAML::Node& node, const std::string& prefix) {
    if (node.IsNull())
      return; // a section whose keys are all commented out
    if (!node.IsMap()) {
      // A whole document that is one text is some other file, given by mistake, which may hold a secret.
      const auto found = !node.IsScalar() ? noun_of(node) : prefix.empty() ? "one text" : in_quotes(node.Scalar());
      return problem(node.Mark(), prefix.empty() ? "the document is " + found + ", not a mapping of keys"
                                                 : prefix + ": " + found + " is not a mapping of keys");
    }
    std::set<std::string> seen;
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) {
        problem(entry.first.Mark(), (prefix.empty() ? "" : prefix + ": ") + noun_of(entry.first) + " cannot be a key");
        continue;
      }
      const auto& leaf = entry.first.Scalar();
      const auto path = prefix.empty() ? leaf : prefix + "." + leaf;
      // A dot inside a name would otherwise reach a key of an inner section by a second way.
      if (leaf.find('.') == std::string::npos && !seen.insert(leaf).second) {
        problem(entry.first.Mark(), path + ": given twice");
        continue;
      }
      visit(entry.first, entry.second, leaf, path, prefix);
    }
  }

  void visit(const YAML::Node& at, const YAML::Node& value, const std::string& leaf, const std::string& path,
             const std::string& prefix) {
    const auto known = leaf.find('.') == std::string::npos;
    const auto inner = std::find_if(detail::sections().begin(), detail::sections().end(),
                                    [&](const auto& s) { return s.path == path; });
    if (known && inner != detail::sections().end())
      return walk(value, path);
    const auto found =
        std::find_if(detail::keys().begin(), detail::keys().end(), [&](const auto& k) { return k.path == path; });
    if (known && found != detail::keys().end())
      return take(*found, value);
    unknown(at, leaf, prefix);
  }

  // A misspelt key gets its neighbour's name; one in the wrong section, the right one.
  void unknown(const YAML::Node& at, const std::string& leaf, const std::string& prefix) {
    std::vector<std::string> siblings;
    std::string elsewhere;
    const auto offer = [&](std::string_view path) {
      if (detail::parent_of(path) == prefix)
        siblings.emplace_back(detail::leaf_of(path));
      else if (detail::leaf_of(path) == leaf || path == leaf)
        elsewhere = path;
    };
    for (const auto& s : detail::sections())
      offer(s.path);
    for (const auto& k : detail::keys())
      offer(k.path);
    const auto shown = leaf.size() <= longest_shown ? leaf : leaf.substr(0, longest_shown) + "...";
    auto text = (prefix.empty() ? "" : prefix + ".") + shown + ": unknown key; ";
    if (!elsewhere.empty())
      text += "did you mean '" + elsewhere + "'?";
    else if (const auto close = detail::nearest(leaf, siblings); !close.empty())
      text += "did you mean '" + close + "'?";
    else
      text += "known here: " + detail::listed(siblings);
    problem(at.Mark(), text);
  }

  void take(const key& k, const YAML::Node& value) {
    std::visit([&](const auto& kind) { take(k, kind, value); }, k.kind);
  }

  void wrong(const key& k, const YAML::Node& value, const std::string& expected) {
    const auto found = value.IsScalar() ? in_quotes(value.Scalar()) : noun_of(value);
    problem(value.Mark(), std::string{k.path} + ": " + found + " is not " + expected);
  }

  void take(const key& k, const detail::seconds_key& kind, const YAML::Node& value) {
    const auto seconds = value.IsScalar() ? number(value.Scalar()) : std::nullopt;
    // Compared before the conversion, which is undefined for what does not fit.
    if (!seconds || *seconds * 1000 < static_cast<double>(kind.least_ms)
        || *seconds * 1000 > static_cast<double>(kind.most_ms))
      return wrong(k, value, expectation(k));
    const auto ms = std::llround(*seconds * 1000);
    // Less than a millisecond must not become 0, which often means "never".
    if (ms == 0 && *seconds != 0)
      return wrong(k, value, expectation(k) + " (not less than 0.001 unless 0)");
    kind.at(result_) = std::chrono::milliseconds{ms};
  }

  void take(const key& k, const detail::count_key& kind, const YAML::Node& value) {
    std::int64_t count = 0;
    auto good = false;
    if (value.IsScalar()) {
      const auto& text = value.Scalar();
      const auto* begin = text.data() + (text.starts_with('+') ? 1 : 0);
      const auto* last = text.data() + text.size();
      const auto [end, failed] = std::from_chars(begin, last, count);
      good = failed == std::errc{} && end == last && count >= kind.least && count <= kind.most;
    }
    if (!good)
      return wrong(k, value, expectation(k));
    kind.at(result_) = static_cast<std::int32_t>(count);
  }

  void take(const key& k, const detail::choice_key& kind, const YAML::Node& value) {
    if (!value.IsScalar())
      return wrong(k, value, expectation(k));
    const auto& text = value.Scalar();
    const auto found = std::find(kind.names.begin(), kind.names.end(), text);
    if (found != kind.names.end())
      return kind.set(result_, static_cast<std::size_t>(found - kind.names.begin()));
    for (const auto& [name, why] : kind.unavailable)
      if (name == text)
        return problem(value.Mark(), std::string{k.path} + ": '" + name + "' " + why);
    const auto close = detail::nearest(text, kind.names);
    const auto hint = close.empty() ? "" : "; did you mean '" + close + "'?";
    if (kind.noun == "value")
      return wrong(k, value, expectation(k) + hint);
    problem(value.Mark(), std::string{k.path} + ": unknown " + std::string{kind.noun} + " " + in_quotes(text)
                              + "; known: " + detail::listed(kind.names) + hint);
  }

  void take(const key& k, const detail::text_key& kind, const YAML::Node& value) {
    if (!value.IsScalar())
      return wrong(k, value, "text");
    if (const auto right = kind.wrong(value.Scalar()); !right.empty())
      return wrong(k, value, right);
    kind.at(result_) = value.Scalar();
  }

  void take(const key& k, const detail::text_list_key& kind, const YAML::Node& value) {
    if (!value.IsSequence())
      return wrong(k, value, expectation(k));
    std::vector<std::string> items;
    for (const auto& item : value) {
      const auto right = item.IsScalar() ? kind.wrong(item.Scalar()) : std::string{"text"};
      if (!right.empty())
        wrong(k, item, right);
      else
        items.push_back(item.Scalar());
    }
    kind.at(result_) = std::move(items);
  }

  // The values may be secrets: no error text below shows one.
  void take(const key& k, const detail::variables_key& kind, const YAML::Node& value) {
    if (!value.IsMap())
      return problem(value.Mark(), std::string{k.path} + ": " + (value.IsScalar() ? "a text" : noun_of(value))
                                       + " is not " + expectation(k));
    std::map<std::string, std::string> variables;
    for (const auto& entry : value) {
      const auto name = entry.first.IsScalar() ? entry.first.Scalar() : std::string{};
      if (!is_variable_name(name)) {
        problem(entry.first.Mark(), std::string{k.path} + ": " + (name.empty() ? noun_of(entry.first) : in_quotes(name))
                                        + " is not the name of a variable (letters, digits and '_', no digit first)");
        continue;
      }
      const auto path = std::string{k.path} + "." + name;
      if (variables.count(name) != 0)
        problem(entry.first.Mark(), path + ": given twice");
      else
        variables[name] = variable(path, entry.second);
    }
    kind.at(result_) = std::move(variables);
  }

  std::string variable(const std::string& path, const YAML::Node& value) {
    if (!value.IsScalar()) {
      problem(value.Mark(), path + ": " + noun_of(value) + " is not text (write \"\" for an empty value)");
      return {};
    }
    const auto& text = value.Scalar();
    if (text.find('\0') != std::string::npos) {
      problem(value.Mark(), path + ": the value holds a zero byte");
      return {};
    }
    if (!text.starts_with('$'))
      return text;
    // Resolved here, once (E8): the result is taken as it is and may itself begin with a dollar sign.
    const auto source = text.substr(1);
    if (!is_variable_name(source)) {
      problem(value.Mark(), path
                                + ": the value begins with '$' but does not go on as the name of a variable; to pass "
                                  "such a text, put it into a variable of the node and name that one");
      return {};
    }
    const auto* found = std::getenv(source.c_str());
    if (found == nullptr) {
      problem(value.Mark(), path + ": the environment of this process has no variable " + in_quotes(source));
      return {};
    }
    return found;
  }

  std::string name_;
  config result_;
  std::vector<std::string> problems_;
};

} // namespace

caf::expected<config> parse_config(std::string_view text, std::string_view name) { return reader{name}.read(text); }

caf::expected<config> load_config(const std::filesystem::path& file) {
  const auto refuse = [&](const std::string& why) {
    return make_error(errc::config_invalid, file.string() + ": cannot be read: " + why);
  };
  std::error_code failed;
  if (std::filesystem::is_directory(file, failed))
    return refuse("it is a directory, not a file");
  errno = 0;
  std::ifstream in{file, std::ios::binary};
  if (!in)
    return refuse(std::strerror(errno != 0 ? errno : EIO));
  std::string text(largest_file + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad())
    return refuse(std::strerror(errno != 0 ? errno : EIO));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > largest_file)
    return refuse("it is larger than 1 MiB, which is no configuration");
  return parse_config(text, file.string());
}

} // namespace berth
