// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>
#include <string>

#include "criu/base/ids.hpp"

#include "images/core.fwd.hpp"

namespace criu {
class ImageDir;
class Log;
}  // namespace criu

namespace criu::engine {
class FrozenTree;
struct RestoreImages;
}  // namespace criu::engine

namespace criu::model {
struct Client;
}

namespace criu::task {
struct Credentials;
}

/// What criu does for somebody with fewer rights than its own: nothing that he couldn't do to his own processes. All of
/// it lets everything pass for the owner of criu; otherwise it throws Error (EPERM).
namespace criu::engine {

/// The work directory of a client, the current one: names in it are looked up and made with the client's rights.
[[nodiscard]] ImageDir openWorkDir(const model::Client& client);

/// Opens the log of a command in the current directory. What a client names is made with its rights, as its own, in
/// place of a regular file or symbolic link of its own. Throws Error.
void openLog(const model::Client& client, const std::string& name, Log& log);

/// A thread with these credentials may be dumped or brought to life for the client: all its ids are the client's, it
/// has no capability that the client hasn't, and can't get one that the client couldn't get.
void requireClientCredentials(const model::Client& client, const task::Credentials& credentials);

/// The client may have these processes dumped as they are now, so they may be stopped for it. The first one is the
/// root of their tree.
void requireClientsProcesses(const model::Client& client, std::span<const HostPid> processes);

/// Every thread of a frozen tree, as the kernel describes it now: before the freeze they could change. The client may
/// trace it (ptrace(2)), and it has no ids and capabilities but the client's.
void requireClientTree(const model::Client& client, FrozenTree& tree);

/// What the images would bring to life: credentials of all threads; no namespaces of their own, owners of deleted files
/// other than the client, or devices, which the client couldn't make.
void requireClientImages(const model::Client& client, const RestoreImages& content, const ImageDir& images);

/// Part of it: `ids` of a process, `outside`: of the criu that dumped it.
void requireClientNamespaces(const model::Client& client, const TaskKobjIdsEntry& ids, const TaskKobjIdsEntry& outside);

}  // namespace criu::engine
