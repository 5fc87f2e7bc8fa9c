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

/// Rules for a client with fewer privileges than criu. The client may dump and restore only processes with the client's
/// own credentials. Each require function throws Error (EPERM) if the client violates a rule. For the owner of criu, it
/// does nothing.
namespace criu::engine {

/// Opens the current directory, which is the work directory. criu uses the client's path rights for all names in this
/// directory.
[[nodiscard]] ImageDir openWorkDir(const model::Client& client);

/// Opens the log of a command in the current directory. For a client, criu creates the file with the client's path
/// rights. The new file replaces a regular file or symbolic link of the client. Throws Error.
void openLog(const model::Client& client, const std::string& name, Log& log);

/// Checks that criu may dump or restore a thread with these credentials for the client. The thread must have only the
/// client's uid and gids. Its capability sets and its bounding set must be within those of the client.
void requireClientCredentials(const model::Client& client, const task::Credentials& credentials);

/// Checks running processes before criu freezes them for the client. The first process is the root of the tree.
void requireClientsProcesses(const model::Client& client, std::span<const HostPid> processes);

/// Checks every thread of a frozen tree. Needed again after requireClientsProcesses(), because threads could change
/// their credentials until the freeze. The client must be allowed to trace each thread (ptrace(2)). Each thread must
/// pass requireClientCredentials().
void requireClientTree(const model::Client& client, FrozenTree& tree);

/// Checks images before a restore for the client: credentials of all threads, namespaces, and deleted files. Refuses
/// private namespaces. Refuses deleted files that are devices or that belong to another user.
void requireClientImages(const model::Client& client, const RestoreImages& content, const ImageDir& images);

/// Refuses a process of the images that is in a private namespace. `ids`: namespace ids of the process. `outside`:
/// namespace ids of the criu process that made the dump.
void requireClientNamespaces(const model::Client& client, const TaskKobjIdsEntry& ids, const TaskKobjIdsEntry& outside);

}  // namespace criu::engine
