#pragma once
// A directory that goes away with the test, and variables that are put back.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include <boost/test/unit_test.hpp>

#include "messages/errors.hpp"

/// Stops the test where an expected value is an error, and says which.
#define REQUIRE_VALUE(x) BOOST_REQUIRE_MESSAGE(x, ((x) ? std::string{} : berth::explain((x).error())))

namespace berth::test {

class scratch_directory {
public:
  scratch_directory() {
    auto pattern = (std::filesystem::temp_directory_path() / "berth-test-XXXXXX").string();
    BOOST_REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~scratch_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  scratch_directory(const scratch_directory&) = delete;
  scratch_directory& operator=(const scratch_directory&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream{path_ / name} << text;
    return path_ / name;
  }

  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream in{path_ / name};
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }

private:
  std::filesystem::path path_;
};

class variable {
public:
  variable(std::string name, const char* value) : name_(std::move(name)) {
    if (const auto* old = std::getenv(name_.c_str()))
      old_ = old;
    set(value);
  }
  ~variable() { set(old_ ? old_->c_str() : nullptr); }
  variable(const variable&) = delete;
  variable& operator=(const variable&) = delete;

private:
  void set(const char* value) const {
    if (value != nullptr)
      setenv(name_.c_str(), value, 1);
    else
      unsetenv(name_.c_str());
  }
  std::string name_;
  std::optional<std::string> old_;
};

} // namespace berth::test
