// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/device/subsystem.hpp"

namespace criu::device {

/// Scope in which functions that plugins call find the context of a run. Needed because CRIU's plugin ABI passes no
/// context to these functions.
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
