#pragma once
// What the user sees: text or JSON on standard output, one line per error on standard error.
#include <functional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "messages/actors.hpp"

namespace berth::cli {

/// Opens standard input, output and error where the caller left them closed, so that no other file becomes one of them.
/// Reading and writing them stays an error. Call it before anything is opened.
void reserve_standard_streams();

/// Writes all of it to the descriptor. Answers 0, or the errno of what went wrong: EPIPE when nobody reads any more,
/// ENOSPC when the disk is full, ECANCELED when `give_up()` said so while the reader kept us waiting.
int write_all(int descriptor, std::string_view data, const std::function<bool()>& give_up = {});

/// The exit status for an output that could not be written, with a line on standard error that says why. A reader that
/// went away (EPIPE) needs no line; the status is then what the shell reports of a program that a closed pipe ended.
int output_failed(int error, int failure = 1);

/// Writes text to standard output. Answers the exit status: 0, or that of output_failed.
int print_text(std::string_view text, int failure = 1);

/// Writes one JSON document and a line feed to standard output. Text in it that is not UTF-8 is shown with U+FFFD.
/// Answers as print_text.
int print_json(const nlohmann::ordered_json& document, int failure = 1);

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

/// The text with control bytes and what is no UTF-8 as \\xNN, for names that came from a sandbox.
std::string escaped(std::string_view text);

/// Milliseconds as the shortest number of seconds: `0.001 s`, `1.5 s`, `90 s`.
std::string exact_time(std::int64_t ms);

/// Milliseconds as people say them: `0.4 s`, `12 s`, `3 min`, `5 h`.
std::string human_time(std::int64_t ms);

} // namespace berth::cli
