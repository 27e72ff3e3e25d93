#include "messages/types.hpp"

namespace berth {

void add_messages(caf::actor_system_config& config) {
  config.add_message_types<caf::id_block::berth>();
  config.add_error_category(errc_category, [](std::uint8_t code, caf::atom_value, const caf::message& context) {
    return explain(caf::error{code, errc_category, context});
  });
}

} // namespace berth
