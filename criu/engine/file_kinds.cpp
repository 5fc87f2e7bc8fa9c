// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/file_kinds.hpp"

#include "criu/files/bpf_map.hpp"
#include "criu/files/epoll.hpp"
#include "criu/files/eventfd.hpp"
#include "criu/files/fsnotify.hpp"
#include "criu/files/io_uring.hpp"
#include "criu/files/pidfd.hpp"
#include "criu/files/pipe.hpp"
#include "criu/files/refused.hpp"
#include "criu/files/signalfd.hpp"
#include "criu/files/timerfd.hpp"
#include "criu/namespaces/namespace_file.hpp"
#include "criu/sockets/inet_kind.hpp"
#include "criu/sockets/netlink_kind.hpp"
#include "criu/sockets/other_kind.hpp"
#include "criu/sockets/packet_kind.hpp"
#include "criu/sockets/unix_kind.hpp"
#include "criu/sockets/vsock_kind.hpp"
#include "criu/tty/tty_kind.hpp"

namespace criu::engine {

files::FileKinds makeFileKinds(const KindResources& with) {
    files::FileKinds kinds;
    kinds.push_back(memory::makeMemfdKind(with.dumpedSegments, with.segments));
    kinds.push_back(files::makePipeKind());
    kinds.push_back(files::makeFifoKind());
    kinds.push_back(files::makeEventFdKind());
    kinds.push_back(files::makeSignalFdKind());
    kinds.push_back(files::makeTimerFdKind());
    kinds.push_back(files::makeEpollKind());
    kinds.push_back(files::makeInotifyKind(with.paths, with.remaps));
    kinds.push_back(files::makeFanotifyKind(with.paths, with.remaps));
    kinds.push_back(files::makePidFdKind());
    kinds.push_back(files::makeBpfMapKind());
    kinds.push_back(files::makeIoUringKind());
    kinds.push_back(namespaces::makeNamespaceFileKind());
    kinds.push_back(tty::makeTtyKind());
    kinds.push_back(device::makeDeviceFileKind(with.dumpDevices, with.restoreDevices));
    kinds.push_back(files::makeRefusedKind());
    kinds.push_back(sockets::makeUnixKind());
    kinds.push_back(sockets::makeInetKind(with.network));
    kinds.push_back(sockets::makeNetlinkKind());
    kinds.push_back(sockets::makePacketKind());
    kinds.push_back(sockets::makeVsockKind());
    kinds.push_back(sockets::makeOtherSocketKind());
    kinds.push_back(files::makeRegularKind(with.paths, with.remaps));  // takes whatever has a path: last
    return kinds;
}

}  // namespace criu::engine
