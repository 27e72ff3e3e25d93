#pragma once
// What the user sees: text or JSON on standard output, one line per error on standard error.
#include <functional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "messages/actors.hpp"

namespace berth::cli {

/// Writes all of it to the descriptor. False when nobody reads any more (EPIPE), the disk is full, or `give_up()` said
/// so while the reader kept us waiting.
bool write_all(int descriptor, std::string_view data, const std::function<bool()>& give_up = {});

/// Writes text to standard output; false as for write_all.
bool print_text(std::string_view text);

/// Writes one JSON document and a line feed to standard output. Text in it that is not UTF-8 is shown with U+FFFD.
bool print_json(const nlohmann::ordered_json& document);

/// `berth: <what>: <context>` in one line on standard error; with `json` {"error":{"code","message"}} on standard output.
void print_error(bool json, const caf::error& reason);

/// One line for people on standard error: `berth: ` and the text.
void print_note(std::string_view text);

/// Whether the bytes are well-formed UTF-8.
bool is_utf8(std::string_view data);

/// Standard base64 with padding.
std::string base64(std::string_view data);

/// Puts bytes into a document: as text, or as base64 where they are no UTF-8; `NAME_encoding` says which.
void put_bytes(nlohmann::ordered_json& document, const std::string& name, const bytes& value);

/// Milliseconds as people say them: `0.4 s`, `12 s`, `3 min`, `5 h`.
std::string human_time(std::int64_t ms);

} // namespace berth::cli
