// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/file_kinds.hpp"

#include "criu/base/ids.hpp"
#include "criu/device/device_file.hpp"
#include "criu/device/restore_devices.hpp"
#include "criu/device/subsystem.hpp"
#include "criu/files/anonymous_kinds.hpp"
#include "criu/files/file_kind_dump.hpp"
#include "criu/files/file_kind_restore.hpp"
#include "criu/files/io_uring.hpp"
#include "criu/files/pipe.hpp"
#include "criu/files/refused.hpp"
#include "criu/files/regular.hpp"
#include "criu/files/watches/fsnotify.hpp"
#include "criu/memory/shmem/memfd_file.hpp"
#include "criu/namespaces/ipc/posix_queue_file.hpp"
#include "criu/namespaces/namespace_file.hpp"
#include "criu/namespaces/net/tun_file.hpp"
#include "criu/sockets/socket_kinds.hpp"
#include "criu/tty/tty_kind.hpp"

namespace criu::engine {
namespace {

using Dump = const FileDumpResources&;
using Restore = const FileRestoreResources&;

/// Returns a function that lets plugins replace the addresses of an Internet socket.
sockets::AddressUpdate addressUpdate(device::RestoreDevices& devices) {
    return [&devices](std::uint32_t state, sockets::InetConnection& ends) {
        const auto family = static_cast<std::uint32_t>(ends.local.family);
        devices.updateInetSocket({family, state, ends.local.words, ends.remote.words});
    };
}

// All fd kinds, with one row for each.
constexpr FileKind kKinds[] = {
    {FD_TYPES__MEMFD, [](Dump with) { return memory::makeMemfdDump(with.segments); },
     [](Restore with) { return memory::makeMemfdRestore(with.segments); }},
    {FD_TYPES__PIPE, [](Dump) { return files::makePipeDump(); }, [](Restore) { return files::makePipeRestore(); }},
    {FD_TYPES__FIFO, [](Dump) { return files::makeFifoDump(); }, [](Restore) { return files::makeFifoRestore(); }},
    {FD_TYPES__EVENTFD, [](Dump) { return files::makeEventFdDump(); },
     [](Restore) { return files::makeEventFdRestore(); }},
    {FD_TYPES__SIGNALFD, [](Dump) { return files::makeSignalFdDump(); },
     [](Restore) { return files::makeSignalFdRestore(); }},
    {FD_TYPES__TIMERFD, [](Dump) { return files::makeTimerFdDump(); },
     [](Restore) { return files::makeTimerFdRestore(); }},
    {FD_TYPES__EVENTPOLL, [](Dump) { return files::makeEpollDump(); },
     [](Restore) { return files::makeEpollRestore(); }},
    {FD_TYPES__INOTIFY, [](Dump with) { return files::makeInotifyDump(with.paths); },
     [](Restore with) { return files::makeInotifyRestore(with.remaps); }},
    {FD_TYPES__FANOTIFY, [](Dump with) { return files::makeFanotifyDump(with.paths); },
     [](Restore with) { return files::makeFanotifyRestore(with.remaps); }},
    {FD_TYPES__PIDFD, [](Dump) { return files::makePidFdDump(); }, [](Restore) { return files::makePidFdRestore(); }},
    {FD_TYPES__BPFMAP, [](Dump) { return files::makeBpfMapDump(); },
     [](Restore) { return files::makeBpfMapRestore(); }},
    {FD_TYPES__IO_URING, [](Dump with) { return files::makeIoUringDump(with.rings); },
     [](Restore) { return files::makeIoUringRestore(); }},
    {FD_TYPES__NS, [](Dump) { return namespaces::makeNamespaceFileDump(); },
     [](Restore) { return namespaces::makeNamespaceFileRestore(); }},
    {FD_TYPES__TUNF, [](Dump with) { return namespaces::makeTunFileDump(with.paths, with.tunDevices); },
     [](Restore) { return namespaces::makeTunFileRestore(); }},
    {FD_TYPES__POSIX_QUEUE, [](Dump with) { return namespaces::makePosixQueueFileDump(with.posixQueues); },
     [](Restore with) { return namespaces::makePosixQueueFileRestore(with.ownPosixQueues); }},
    {FD_TYPES__TTY, [](Dump with) { return tty::makeTtyDump(with.sessions); },
     [](Restore with) { return tty::makeTtyRestore(with.terminals); }},
    {FD_TYPES__EXT, [](Dump with) { return device::makeDeviceFileDump(with.devices); },
     [](Restore with) { return device::makeDeviceFileRestore(with.devices); }},
    {FD_TYPES__UND, [](Dump) { return files::makeRefusedDump(); }, nullptr},
    {FD_TYPES__UNIXSK, [](Dump with) { return sockets::makeUnixDump(with.externalSockets); },
     [](Restore with) { return sockets::makeUnixRestore(with.externalSockets, with.remaps); }},
    {FD_TYPES__INETSK, [](Dump with) { return sockets::makeInetDump(with.network, with.program); },
     [](Restore with) { return sockets::makeInetRestore(with.network, addressUpdate(with.devices)); }},
    {FD_TYPES__NETLINKSK, [](Dump) { return sockets::makeNetlinkDump(); },
     [](Restore) { return sockets::makeNetlinkRestore(); }},
    {FD_TYPES__PACKETSK, [](Dump) { return sockets::makePacketDump(); },
     [](Restore) { return sockets::makePacketRestore(); }},
    {FD_TYPES__VSOCKSK, [](Dump) { return sockets::makeVsockDump(); },
     [](Restore) { return sockets::makeVsockRestore(); }},
    {FD_TYPES__UND, [](Dump) { return sockets::makeOtherSocketDump(); }, nullptr},
    {FD_TYPES__REG, [](Dump with) { return files::makeRegularDump(with.paths); },
     // The last row, because this kind claims every file with a path.
     [](Restore with) { return files::makeRegularRestore(with.remaps); }},
};

}  // namespace

std::span<const FileKind> fileKinds() noexcept {
    return kKinds;
}

}  // namespace criu::engine
