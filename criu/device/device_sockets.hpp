// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

namespace criu::device {
class DumpDevices;
class RestoreDevices;
}  // namespace criu::device

namespace criu::sockets {
class ExternalSocketRestore;
class ExternalSocketDump;
}  // namespace criu::sockets

/// Device subsystems (so far: plugins) carry unix sockets that are connected to the outside.
namespace criu::engine {

/// Asks the subsystems of a dump, which outlive it.
[[nodiscard]] std::unique_ptr<sockets::ExternalSocketDump> makeExternalSocketDump(device::DumpDevices& devices);
/// Asks the subsystems of a restore, which outlive it.
[[nodiscard]] std::unique_ptr<sockets::ExternalSocketRestore> makeExternalSocketRestore(
    const device::RestoreDevices& devices);

}  // namespace criu::engine
