#include "actors/lifecycle_table.hpp"

#include <string_view>

namespace berth {

namespace {

using enum action;

constexpr state_set A = bit(sandbox_state::absent);
constexpr state_set O = bit(sandbox_state::opening);
constexpr state_set V = bit(sandbox_state::active); // V: in use
constexpr state_set P = bit(sandbox_state::parking);
constexpr state_set W = bit(sandbox_state::warm);
constexpr state_set C = bit(sandbox_state::closing);

using row = std::array<transition, sandbox_state_count>;

// Where a cell leads further than its own purpose, acquires that stood in line are served (-> opening) or a close that
// stood in line begins (-> closing).
// clang-format off
constexpr std::array<row, event_count> table{{
  //                     absent            opening                      active              parking                      warm                closing
  /* acquire          */ {{{open, O},      {wait_in_line, O},           {open, O},          {wait_in_line, P},           {open, O},          {wait_in_line, C}}},
  /* release          */ {{{answer_now, A},{answer_now, O},             {park, P},          {wait_in_line, P},           {answer_now, W},    {answer_now, C}}},
  /* close            */ {{{answer_now, A},{wait_in_line, O},           {close, C},         {wait_in_line, P},           {close, C},         {wait_in_line, C}}},
  /* reap             */ {{{refuse, A},    {refuse, O},                 {refuse, V},        {refuse, P},                 {close_if_same, W | C}, {refuse, C}}},
  /* reap_idle        */ {{{ignore, A},    {ignore, O},                 {close_if_idle, V | C}, {ignore, P},             {ignore, W},        {ignore, C}}},
  /* adopt            */ {{{adopt, O},     {refuse, O},                 {refuse, V},        {refuse, P},                 {refuse, W},        {refuse, C}}},
  /* renew_tick       */ {{{ignore, A},    {renew, O},                  {renew, V},         {renew, P},                  {renew, W},         {ignore, C}}},
  /* operate          */ {{{refuse, A},    {run, O},                    {run, V},           {refuse, P},                 {refuse, W},        {refuse, C}}},
  /* granted          */ {{{defect, A},    {advance, O},                {defect, V},        {defect, P},                 {defect, W},        {advance, C}}},
  /* refused          */ {{{defect, A},    {advance, A | O | C},        {defect, V},        {defect, P},                 {defect, W},        {advance, A | O | V | W}}},
  /* unanswered       */ {{{defect, A},    {advance, A | O | V | W | C},{defect, V},        {defect, P},                 {defect, W},        {advance, A | O | V | W}}},
  /* renewed          */ {{{ignore, A},    {keep, O},                   {keep, V},          {advance, O | P | W | C},        {keep, W},          {ignore, C}}},
  /* lapsed           */ {{{ignore, A},    {claim_again, O},            {claim_again, V},   {claim_again, P},            {claim_again, W},   {ignore, C}}},
  /* lost             */ {{{ignore, A},    {take_again, O},             {forget, A},        {forget, A | O},             {forget, A},        {ignore, C}}},
  /* renew_unanswered */ {{{ignore, A},    {keep, O},                   {keep, V},          {advance, O | P | W | C},        {keep, W},          {ignore, C}}},
  /* found            */ {{{defect, A},    {advance, O},                {defect, V},        {defect, P},                 {defect, W},        {defect, C}}},
  /* not_found        */ {{{defect, A},    {advance, O},                {defect, V},        {defect, P},                 {defect, W},        {defect, C}}},
  /* alive            */ {{{defect, A},    {advance, O | V | W | C},    {defect, V},        {defect, P},                 {defect, W},        {defect, C}}},
  /* dead             */ {{{defect, A},    {advance, C},                {defect, V},        {defect, P},                 {defect, W},        {defect, C}}},
  /* slot             */ {{{defect, A},    {advance, O | V | W | C},    {defect, V},        {defect, P},                 {defect, W},        {defect, C}}},
  /* no_slot          */ {{{defect, A},    {advance, O},                {defect, V},        {defect, P},                 {defect, W},        {defect, C}}},
  /* created          */ {{{defect, A},    {advance, O | V | W | C},    {defect, V},        {defect, P},                 {defect, W},        {defect, C}}},
  /* create_failed    */ {{{defect, A},    {advance, O},                {defect, V},        {defect, P},                 {defect, W},        {defect, C}}},
  /* create_unknown   */ {{{defect, A},    {advance, C},                {defect, V},        {defect, P},                 {defect, W},        {defect, C}}},
  /* drained          */ {{{ignore, A},    {ignore, O},                 {ignore, V},        {advance, P},                {ignore, W},        {ignore, C}}},
  /* stopped          */ {{{defect, A},    {defect, O},                 {defect, V},        {defect, P},                 {defect, W},        {advance, C}}},
  /* stop_failed      */ {{{defect, A},    {defect, O},                 {defect, V},        {defect, P},                 {defect, W},        {advance, C}}},
  /* unmarked         */ {{{defect, A},    {advance, A | O},            {defect, V},        {defect, P},                 {defect, W},        {advance, A | O | V | W}}},
  /* beat             */ {{{ignore, A},    {ignore, O},                 {ignore, V},        {ignore, P},                 {ignore, W},        {beat, C}}},
  /* beat_answered    */ {{{ignore, A},    {ignore, O},                 {ignore, V},        {ignore, P},                 {ignore, W},        {advance, C}}},
}};
// clang-format on

constexpr std::array<std::string_view, event_count> event_names{
    "acquire",    "release",     "close",         "reap",           "reap_idle",
    "adopt",      "renew_tick",  "operate",       "granted",        "refused",
    "unanswered", "renewed",     "lapsed",        "lost",           "renew_unanswered",
    "found",      "not_found",   "alive",         "dead",           "slot",
    "no_slot",    "created",     "create_failed", "create_unknown", "drained",
    "stopped",    "stop_failed", "unmarked",      "beat",           "beat_answered"};

constexpr std::array<std::string_view, 19> action_names{
    "ignore", "defect",        "refuse",        "open",       "wait_in_line", "park", "answer_now",
    "close",  "close_if_same", "close_if_idle", "adopt",      "renew",        "run",  "advance",
    "keep",   "claim_again",   "forget",        "take_again", "beat"};

} // namespace

std::string to_string(event x) { return std::string{event_names.at(static_cast<std::size_t>(x))}; }

std::string to_string(action x) { return std::string{action_names.at(static_cast<std::size_t>(x))}; }

const transition& lookup(sandbox_state state, event what) {
  return table.at(static_cast<std::size_t>(what)).at(static_cast<std::size_t>(state));
}

} // namespace berth
