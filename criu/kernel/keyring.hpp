// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu::kernel {

/// Gives the calling thread and its later children a new, empty session keyring (session-keyring(7)). Otherwise a
/// restored task would have criu's session keyring, and could use criu's keys even as another user. Does nothing if the
/// kernel lacks keyrings or denies them to criu. Throws Error.
void joinNewSessionKeyring();

}  // namespace criu::kernel
