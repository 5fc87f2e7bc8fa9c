// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <span>
#include <string_view>
#include <vector>

#include "criu/options/option_table.hpp"
#include "criu/options/settings.hpp"
#include "images/rpc.hpp"

namespace criu::options {

/// Options in a client's request to the service.
struct Request {
    const ::CriuOpts& opts;
    Command command;
    /// Pid of the client. Descriptor numbers in the request are numbers of the client (/proc/CLIENT/fd).
    pid_t client;
    /// True if the client started this process (swrk), so that this process has inherited the client's descriptors.
    bool inherited;
};

/// Field of criu_opts that isn't an option, and concerns only the client and the service.
struct RequestOnly {
    std::string_view field;
    std::string_view purpose;
    RequestPart::Read read = nullptr;  ///< function that stores the field; nullptr if only the service uses the field
};

/// Returns the fields that no row of the option table contains.
std::span<const RequestOnly> requestOnlyFields() noexcept;

/// Applies a request to `options`, which already contain the settings of configuration files. Uses the option table.
/// Missing fields and empty texts change nothing.
/// Returns the applied settings, for the log and for refuseMissing(). Throws Error that names the field; the options
/// are invalid afterwards.
///
/// After the request, the caller reads the file of config_file, and handles the fields of requestOnlyFields() that have
/// no function.
std::vector<Setting> applyRequest(const Request& request, model::Options& options);

}  // namespace criu::options
