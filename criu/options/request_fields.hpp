// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/options/request.hpp"

/// Readers of criu_opts fields whose form differs from the argument of the option. Each reader stores a field that is
/// present, and changes nothing if it is missing. All readers throw Error for a malformed or forbidden value.
namespace criu::options {

void readImagesDir(model::Options& options, const Request& request);
void readWorkDir(model::Options& options, const Request& request);
/// Reads the log file. Uses criu.log if neither the request nor a configuration file contains one.
void readLogFile(model::Options& options, const Request& request);
/// Reads the level of messages. If the request has none, uses the default of the field, even if a configuration file
/// contains a level.
void readVerbosity(model::Options& options, const Request& request);
/// Reads the root of the tree. Uses the client's pid if the field is 0 or missing.
void readTree(model::Options& options, const Request& request);
/// Reads leave_running. If a request has both leave_running and leave_stopped, leave_stopped applies.
void readLeaveRunning(model::Options& options, const Request& request);
void readRestoreSibling(model::Options& options, const Request& request);
void readExecCommand(model::Options& options, const Request& request);
void readCpuCaps(model::Options& options, const Request& request);
void readInheritFds(model::Options& options, const Request& request);
void readExtMounts(model::Options& options, const Request& request);
void readJoinNs(model::Options& options, const Request& request);
void readEmptyNs(model::Options& options, const Request& request);
void readExtUnixSockets(model::Options& options, const Request& request);
void readNetworkLock(model::Options& options, const Request& request);
void readVethPairs(model::Options& options, const Request& request);
/// Reads the cgroup mode. If a request has both fields, manage_cgroups_mode applies.
void readCgroupMode(model::Options& options, const Request& request);
void readCgroupRoots(model::Options& options, const Request& request);
void readPreDumpMode(model::Options& options, const Request& request);
void readImageIoMode(model::Options& options, const Request& request);
/// Reads compress and compress_region_size. Each of them selects LZ4, unless compress is 0.
void readCompress(model::Options& options, const Request& request);
/// Reads address, port and descriptor of the page server. Unless lazy_pages is set, the dump sends its pages to this
/// server. With lazy_pages, the dump itself listens there, and only on the loopback device without an address.
void readPageServer(model::Options& options, const Request& request);
void readStreamTo(model::Options& options, const Request& request);
void readAllowLoss(model::Options& options, const Request& request);
/// Reads public keys. The next two functions read secret keys, which the client passes as descriptors.
void readEncrypt(model::Options& options, const Request& request);
void readDecrypt(model::Options& options, const Request& request);
void readSign(model::Options& options, const Request& request);
void readStreamFrom(model::Options& options, const Request& request);

}  // namespace criu::options
