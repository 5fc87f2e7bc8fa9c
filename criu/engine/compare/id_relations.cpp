// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/compare/id_relations.hpp"

namespace criu::engine {

std::string_view nameOf(IdClass ids) noexcept {
    switch (ids) {
        case IdClass::File:
            return "file";
        case IdClass::Pipe:
            return "pipe";
        case IdClass::Socket:
            return "socket";
        case IdClass::Terminal:
            return "terminal";
        case IdClass::SharedMemory:
            return "shared memory";
        case IdClass::Memfd:
            return "memfd";
        case IdClass::Remap:
            return "deleted file";
        case IdClass::Descriptors:
            return "descriptor table";
        case IdClass::AddressSpace:
            return "address space";
        case IdClass::Paths:
            return "root and current directory";
        case IdClass::SignalActions:
            return "signal actions";
        case IdClass::UndoList:
            return "semaphore undo list";
        case IdClass::Namespace:
            return "namespace";
        case IdClass::Mount:
            return "mount";
        case IdClass::PeerGroup:
            return "peer group";
        case IdClass::FileSystem:
            return "file system";
        case IdClass::Inode:
            return "inode";
        case IdClass::CgroupSet:
            return "cgroup set";
        case IdClass::SeccompFilter:
            return "seccomp filter";
        case IdClass::PidfdTarget:
            return "target of a pidfd";
        case IdClass::BpfMap:
            return "BPF map";
    }
    return "object";
}

IdRelations::Bound IdRelations::bind(IdClass ids, std::uint64_t image, std::uint64_t tree) {
    const auto partner = ofImage_.find({ids, image});
    if (partner != ofImage_.end())
        return partner->second == tree ? Bound::Known : Bound::Conflict;
    if (ofTree_.contains({ids, tree}))
        return Bound::Conflict;
    ofImage_.emplace(Key{ids, image}, tree);
    ofTree_.emplace(Key{ids, tree}, image);
    return Bound::Fresh;
}

}  // namespace criu::engine
