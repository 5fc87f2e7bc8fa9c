// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/options/request.hpp"

/// Fields of criu_opts whose form differs from their option's argument. Each function stores what a request says, and
/// leaves the options as they are if it says nothing; all throw Error for what is malformed or not allowed.
namespace criu::options {

void readImagesDir(model::Options& options, const Request& request);
void readWorkDir(model::Options& options, const Request& request);
/// A request without a log gets criu.log, unless a configuration file has chosen one.
void readLogFile(model::Options& options, const Request& request);
/// A request that names no level asks for the field's default, whatever a configuration file says.
void readVerbosity(model::Options& options, const Request& request);
/// Without a pid, or with 0, a client wants itself to be dumped.
void readTree(model::Options& options, const Request& request);
/// Who asks for both leave_running and leave_stopped gets stopped tasks.
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
/// manage_cgroups_mode counts, if both are there.
void readCgroupMode(model::Options& options, const Request& request);
void readCgroupRoots(model::Options& options, const Request& request);
void readPreDumpMode(model::Options& options, const Request& request);
/// Address, port and descriptor of the page server. Pages are sent there, unless memory is moved on demand.
void readPageServer(model::Options& options, const Request& request);
void readStreamTo(model::Options& options, const Request& request);
/// Keys that nobody else is to see come by descriptors.
void readEncrypt(model::Options& options, const Request& request);
void readDecrypt(model::Options& options, const Request& request);
void readSign(model::Options& options, const Request& request);
void readStreamFrom(model::Options& options, const Request& request);

}  // namespace criu::options
