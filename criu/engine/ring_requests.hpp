// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu {
class Log;
class StopRequest;
}  // namespace criu

namespace criu::engine {

class FrozenTree;

/// Waits for requests of io_uring(7) that are under way in a tree that stands still, such as reads of files: they end
/// without their process, but for what the kernel does for them in its threads, which these are let do meanwhile. Not
/// for those that wait for somebody (a connection, data): whoever dumps the ring refuses it then. The wait ends when
/// nothing is under way any more, when a second has brought nothing, or after ten.
///
/// To be called before anything of memory, or of positions in files, is looked at, which requests change. Throws Error.
void awaitRingRequests(FrozenTree& tree, StopRequest& stop, Log& log);

}  // namespace criu::engine
