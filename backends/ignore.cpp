#include "backends/ignore.hpp"

#include <algorithm>
#include <array>
#include <unordered_set>

namespace berth {

bool is_ignored(std::string_view name) {
  static const std::unordered_set<std::string_view> names{
      ".git",      ".svn",       ".hg",         ".bzr",      "node_modules",  "__pycache__",   ".venv",      "venv",
      ".env",      "env",        ".tox",        ".nox",      ".eggs",         "site-packages", "dist",       "build",
      ".next",     ".nuxt",      ".output",     ".turbo",    "target",        "out",           ".idea",      ".vscode",
      ".project",  ".classpath", ".settings",   ".DS_Store", "Thumbs.db",     "desktop.ini",   ".cache",     "logs",
      ".coverage", "coverage",   ".nyc_output", "htmlcov",   ".pytest_cache", ".mypy_cache",   ".ruff_cache"};
  constexpr std::array<std::string_view, 10> endings{".egg-info", ".swp", ".swo",  "~",    ".lnk",
                                                     ".log",      ".tmp", ".temp", ".bak", ".cache"};
  return names.contains(name)
         || std::any_of(endings.begin(), endings.end(), [name](auto e) { return name.ends_with(e); })
         || (name.starts_with(".upload-") && name.ends_with(".part"));
}

} // namespace berth
