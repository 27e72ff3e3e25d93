#pragma once
// Which variables of the process environment reach commands of the local backend (spec: contract.md section 9, E1-E5).
//
// The agent's commands run with the operator's login around them; what looks like a credential stays outside. There is
// no list of exceptions: who wants a blocked name inside configures it (`sandbox.environment`) or sends it with the
// command, and what is sent always wins.
#include <map>
#include <string>
#include <string_view>

namespace berth {

/// Whether a variable of that name is kept from commands. Case does not matter.
bool is_blocked_variable(std::string_view name);

/// `inherited` without what is blocked, and then `injected`, which may carry any name and wins.
std::map<std::string, std::string> command_environment(const std::map<std::string, std::string>& inherited,
                                                       const std::map<std::string, std::string>& injected);

/// The same for the environment of this process, nothing injected.
std::map<std::string, std::string> command_environment();

/// The environment of this process. Entries without a name or a `=` are left out.
std::map<std::string, std::string> process_environment();

} // namespace berth
