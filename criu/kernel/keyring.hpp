// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu::kernel {

/// The calling thread, and what it creates from then on, gets a new, empty session keyring (session-keyring(7)) in
/// place of the one that it has inherited: whose keys it could use, whatever user it becomes. Throws Error. Does
/// nothing where there are no keyrings, or none for criu.
void joinNewSessionKeyring();

}  // namespace criu::kernel
