#pragma once
// File operations of the local backend, on the host, beneath the sandbox's mounts (spec: contract.md sections 2-4).
// Blocking: run them on the backend's file threads.
#include "backends/local/mounts.hpp"
#include "messages/operations.hpp"

namespace berth::local {

/// Reads text, whole or by lines. `translate`: host roots inside become virtual ones (a file this sandbox wrote, R6).
/// Errors: not_text, too_large (file_cap), invalid_argument (not a regular file), and those of mount_table::open.
caf::expected<file_content> read_text(const mount_table& mounts, const read_file& x, bool translate);

/// Replaces (by rename, so that a full disk loses nothing) or appends. `translate`: virtual roots inside become host
/// ones (W3). Errors: no_space, and those of mount_table::open_parent.
caf::expected<file_written> write_text(const mount_table& mounts, const write_file& x, bool translate);

/// Replaces the bytes of a file (W6).
caf::expected<file_written> write_bytes(const mount_table& mounts, const update_file& x);

/// Reads the bytes of a file below /mnt/user-data (D1-D6).
caf::expected<file_content> read_bytes(const mount_table& mounts, const download_file& x);

/// Lists a directory (L1-L8). A link whose target lies inside the listed directory is listed once, under its own name,
/// and never descended; other links are left out.
caf::expected<dir_listing> list_tree(const mount_table& mounts, const list_dir& x);

} // namespace berth::local
