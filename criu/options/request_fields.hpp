// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/options/request.hpp"

/// Readers of criu_opts fields whose form differs from the option's argument. Each one stores a present field, and
/// changes nothing for an absent one. All throw Error for a malformed or forbidden value.
namespace criu::options {

void readImagesDir(model::Options& options, const Request& request);
void readWorkDir(model::Options& options, const Request& request);
/// Uses criu.log if neither the request nor a configuration file has a log.
void readLogFile(model::Options& options, const Request& request);
/// Uses the field's default if the request has no level, also if a configuration file has one.
void readVerbosity(model::Options& options, const Request& request);
/// Uses the client's own pid for 0 or an absent pid.
void readTree(model::Options& options, const Request& request);
/// Uses leave_stopped if a request has both leave_running and leave_stopped.
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
/// Uses manage_cgroups_mode if a request has both fields.
void readCgroupMode(model::Options& options, const Request& request);
void readCgroupRoots(model::Options& options, const Request& request);
void readPreDumpMode(model::Options& options, const Request& request);
void readImageIoMode(model::Options& options, const Request& request);
/// Reads compress and compress_region_size. Either one asks for LZ4, unless compress is 0.
void readCompress(model::Options& options, const Request& request);
/// Reads address, port and descriptor of the page server. Sends pages there unless lazy_pages is set.
void readPageServer(model::Options& options, const Request& request);
void readStreamTo(model::Options& options, const Request& request);
/// Read keys. Secret keys come as descriptors.
void readEncrypt(model::Options& options, const Request& request);
void readDecrypt(model::Options& options, const Request& request);
void readSign(model::Options& options, const Request& request);
void readStreamFrom(model::Options& options, const Request& request);

}  // namespace criu::options
