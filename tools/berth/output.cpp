#include "tools/berth/output.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace berth::cli {

namespace {

std::string one_line(std::string text) {
  for (auto& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = ' ';
  return text;
}

} // namespace

void reserve_standard_streams() {
  // The wrong way round on purpose: what is read or written there must fail, as it would on a closed one.
  for (const auto& [descriptor, mode] :
       {std::pair{STDIN_FILENO, O_WRONLY}, std::pair{STDOUT_FILENO, O_RDONLY}, std::pair{STDERR_FILENO, O_RDONLY}})
    if (::fcntl(descriptor, F_GETFD) < 0) [[maybe_unused]]
      const auto lowest = ::open("/dev/null", mode);
}

int write_all(int descriptor, std::string_view data, const std::function<bool()>& give_up) {
  // A pipe that poll calls writable takes this much without blocking, so that a reader who stopped reading cannot keep
  // us from ending.
  constexpr std::size_t piece = 4096;
  while (!data.empty()) {
    pollfd ready{descriptor, POLLOUT, 0};
    const auto writable = ::poll(&ready, 1, 100);
    if (writable < 0 && errno != EINTR && errno != EAGAIN)
      return errno;
    if (writable <= 0) {
      if (give_up && give_up())
        return ECANCELED;
      continue;
    }
    const auto n = ::write(descriptor, data.data(), std::min(data.size(), piece));
    if (n >= 0)
      data.remove_prefix(static_cast<std::size_t>(n));
    else if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)
      return errno;
  }
  return 0;
}

int output_failed(int error, int failure) {
  if (error == EPIPE)
    return 128 + SIGPIPE;
  print_note(std::string{"standard output: "} + std::strerror(error));
  return failure;
}

int print_text(std::string_view text, int failure) {
  const auto error = write_all(STDOUT_FILENO, text);
  return error == 0 ? 0 : output_failed(error, failure);
}

int print_json(const nlohmann::ordered_json& document, int failure) {
  return print_text(document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n", failure);
}

void print_error(bool json, const caf::error& reason) {
  if (json)
    print_json({{"error", {{"code", to_string(code_of(reason))}, {"message", explain(reason)}}}});
  else
    print_note(explain(reason));
}

void print_note(std::string_view text) { write_all(STDERR_FILENO, "berth: " + one_line(std::string{text}) + "\n"); }

bool is_utf8(std::string_view data) {
  std::size_t i = 0;
  while (i < data.size()) {
    const auto lead = static_cast<unsigned char>(data[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
    if (length == 0 || i + length > data.size())
      return false;
    std::uint32_t point = length == 1 ? lead : lead & (0x7fu >> length);
    for (std::size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(data[i + k]);
      if (next >> 6 != 2)
        return false;
      point = point << 6 | (next & 0x3fu);
    }
    constexpr std::array<std::uint32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
    if (point < least[length] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
      return false;
    i += length;
  }
  return true;
}

std::string base64(std::string_view data) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string result;
  result.reserve((data.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < data.size(); i += 3) {
    std::uint32_t group = 0;
    const auto count = std::min<std::size_t>(3, data.size() - i);
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (k < count ? static_cast<unsigned char>(data[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k)
      result += k <= count ? digits[group >> (18 - 6 * k) & 63] : '=';
  }
  return result;
}

void put_bytes(nlohmann::ordered_json& document, const std::string& name, const bytes& value) {
  const auto text = is_utf8(value.data);
  document[name] = text ? value.data : base64(value.data);
  document[name + "_encoding"] = text ? "utf-8" : "base64";
}

std::string escaped(std::string_view text) {
  const auto readable = is_utf8(text);
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f && (byte < 0x80 || readable)) {
      result += c;
      continue;
    }
    std::array<char, 8> code{};
    std::snprintf(code.data(), code.size(), "\\x%02x", byte);
    result += code.data();
  }
  return result;
}

std::string exact_time(std::int64_t ms) {
  auto text = std::to_string(ms / 1000);
  if (ms % 1000 != 0) {
    text += "." + std::to_string(1000 + ms % 1000).substr(1);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text + " s";
}

std::string human_time(std::int64_t ms) {
  if (ms < 10'000) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.1f s", static_cast<double>(ms) / 1000);
    return text.data();
  }
  const auto s = ms / 1000;
  return s < 120    ? std::to_string(s) + " s"
         : s < 7200 ? std::to_string(s / 60) + " min"
                    : std::to_string(s / 3600) + " h";
}

} // namespace berth::cli
