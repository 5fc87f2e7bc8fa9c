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

/// Adapters by which device subsystems (now only plugins) save external sockets.
namespace criu::engine {

/// Asks the subsystems of a dump, which must outlive the result.
[[nodiscard]] std::unique_ptr<sockets::ExternalSocketDump> makeExternalSocketDump(device::DumpDevices& devices);
/// Asks the subsystems of a restore, which must outlive the result.
[[nodiscard]] std::unique_ptr<sockets::ExternalSocketRestore> makeExternalSocketRestore(
    const device::RestoreDevices& devices);

}  // namespace criu::engine
