// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/device/subsystem.hpp"

namespace criu::device {

/// Makes a run's context known to functions that plugins call, since CRIU's plugin ABI passes none. The context is set
/// as long as this object exists.
class PluginHost {
public:
    explicit PluginHost(const Context& context);
    ~PluginHost();
    PluginHost(const PluginHost&) = delete;
    PluginHost& operator=(const PluginHost&) = delete;

private:
    const Context* before_;
};

}  // namespace criu::device
