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

/// What a client of the service asks for, as far as options go.
struct Request {
    const ::CriuOpts& opts;
    Command command;
    /// Who asks. Its descriptors, which requests name by number, are reached at /proc/CLIENT/fd.
    pid_t client;
    /// The client has started this process (swrk), which is born with what the client opened for it.
    bool inherited;
};

/// A field of criu_opts that isn't an option, but something between client and service.
struct RequestOnly {
    std::string_view field;
    std::string_view purpose;
    RequestPart::Read read = nullptr;  ///< stores it if the engine is concerned
};

/// Fields that no row of the option table names.
std::span<const RequestOnly> requestOnlyFields() noexcept;

/// Stores what a request says on top of what `options` holds (from configuration files), field by field as the option
/// table has it. What a request leaves out stays as it is; so does an option whose text it leaves empty. Returns what
/// was said as settings, for the log and for refuseMissing(). Throws Error naming the field; the options are of no use
/// then.
///
/// Not done here, because it takes more than the message: reading the file that config_file names (it comes after
/// the request), and what requestOnlyFields() lists without a function.
std::vector<Setting> applyRequest(const Request& request, model::Options& options);

}  // namespace criu::options
