#pragma once
// The one text that stands for a command's result, as an agent reads it (spec: contract.md X4, X10-X12, X34, X38, X39).
#include <chrono>
#include <string>

#include "messages/operations.hpp"

namespace berth {

/// Standard output, then standard error under a heading, then the exit code where it is not 0 (a signal s is -s), or
/// the notice that the command was ended after `timeout`. Always valid UTF-8. `(no output)` for silent success.
std::string render_text(const executed& x, std::chrono::milliseconds timeout);

} // namespace berth
