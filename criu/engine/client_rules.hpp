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

/// Rules for a client with fewer privileges than criu. The client gets no more than what it may do to its own
/// processes. Each require function returns at once for the owner of criu; otherwise it throws Error (EPERM) for a
/// violation.
namespace criu::engine {

/// Opens the current directory, which is the work directory. criu looks up and creates names in it with the client's
/// path rights.
[[nodiscard]] ImageDir openWorkDir(const model::Client& client);

/// Opens the log of a command in the current directory. For a client, criu creates the file with the client's path
/// rights. The new file replaces a regular file or symbolic link of the client. Throws Error.
void openLog(const model::Client& client, const std::string& name, Log& log);

/// Checks that a thread with these credentials may be dumped or restored for the client. All its ids are the client's.
/// It has no capability that the client lacks, and its bounding set allows none beyond the client's bounding set.
void requireClientCredentials(const model::Client& client, const task::Credentials& credentials);

/// Checks running processes before criu freezes them for the client. The first process is the root of the tree.
void requireClientsProcesses(const model::Client& client, std::span<const HostPid> processes);

/// Checks every thread of a frozen tree. Before the freeze, threads could still change their credentials. The client
/// may trace each thread (ptrace(2)), and a thread has only ids and capabilities of the client.
void requireClientTree(const model::Client& client, FrozenTree& tree);

/// Checks what a restore would create: credentials of all threads, namespaces, and deleted files. Refuses private
/// namespaces, and deleted files that are devices or belong to another user.
void requireClientImages(const model::Client& client, const RestoreImages& content, const ImageDir& images);

/// Refuses a process of the images that is in a private namespace. `ids` are namespace ids of the process, `outside`
/// those of the criu that dumped it.
void requireClientNamespaces(const model::Client& client, const TaskKobjIdsEntry& ids, const TaskKobjIdsEntry& outside);

}  // namespace criu::engine
