#pragma once
// What the node and a sandbox's supervisor say to each other over their SOCK_SEQPACKET pair. Plain structs: both ends
// are built together and run on one host.
#include <cstddef>
#include <cstdint>

namespace berth::guest {

/// The descriptor that the supervisor finds its end of the pair on.
inline constexpr int socket_fd = 3;
/// A payload up to this size travels in the datagram; a larger one in a memfd sent along, so that it has no limit.
inline constexpr std::size_t inline_limit = std::size_t{48} * 1024;
/// The option that makes the supervisor say who it is and exit: whether it can be started is what the probe asks. Its
/// answer, on standard output, tells it from any other program that ends well.
inline constexpr char check_option[] = "--check";
inline constexpr char check_answer[] = "berth-guest: ready\n";
/// The option of plain mode: the supervisor adopts what its commands leave behind.
inline constexpr char adopt_option[] = "--adopt";

enum class request_kind : std::uint32_t { spawn, signal };

/// A request. `spawn` carries the write ends of the two output pipes (SCM_RIGHTS: out, err, and the memfd where
/// `in_memfd`), and as payload the NUL-ended strings cwd, argv..., env...
struct request {
  request_kind kind = request_kind::spawn;
  std::int32_t signal = 0;
  std::uint64_t exec = 0;
  std::uint32_t argc = 0;
  std::uint32_t envc = 0;
  std::uint64_t payload_size = 0;
  std::uint32_t in_memfd = 0;
  std::uint32_t reserved = 0;
};

enum class notice_kind : std::uint32_t {
  hello,  ///< ready for requests
  failed, ///< the command could not be started; `value` is errno
  exited, ///< the command's own process ended by itself; `value` is its status
  killed  ///< the command's own process was ended by signal `value`
};

/// What the supervisor reports.
struct notice {
  notice_kind kind = notice_kind::hello;
  std::int32_t value = 0;
  std::uint64_t exec = 0;
};

} // namespace berth::guest
