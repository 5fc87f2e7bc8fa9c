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

/// Options of a client's request to the service.
struct Request {
    const ::CriuOpts& opts;
    Command command;
    /// Pid of the client. Descriptor numbers in the request are those of /proc/CLIENT/fd.
    pid_t client;
    /// True if the client started this process (swrk), which then inherits the client's descriptors.
    bool inherited;
};

/// A field of criu_opts that isn't an option, but concerns only client and service.
struct RequestOnly {
    std::string_view field;
    std::string_view purpose;
    RequestPart::Read read = nullptr;  ///< stores the field if the engine uses it
};

/// Returns the fields that no row of the option table names.
std::span<const RequestOnly> requestOnlyFields() noexcept;

/// Applies a request to `options`, which contain settings of configuration files, by the option table. Fields that
/// are absent, and empty texts, change nothing. Returns the applied settings for the log and for refuseMissing().
/// Throws Error that names the field; the options are invalid then.
///
/// The caller reads the file of config_file after the request, and handles the fields of requestOnlyFields() without
/// a function: these need more than the message.
std::vector<Setting> applyRequest(const Request& request, model::Options& options);

}  // namespace criu::options
