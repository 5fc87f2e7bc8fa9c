// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/device/subsystem.hpp"

namespace criu::device {

/// The run whose plugins are working. CRIU's plugin ABI has functions without a context argument that plugins call, so
/// this one pointer has to be found from anywhere; it is set for as long as a plugin's half of a run lives.
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
