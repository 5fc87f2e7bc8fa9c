// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/bpf_map.hpp"

#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "criu/base/error.hpp"

namespace criu::kernel {
namespace {

constexpr std::uint32_t kBatch = 65536;

int call(bpf_cmd command, bpf_attr& attributes) {
    return static_cast<int>(::syscall(SYS_bpf, command, &attributes, sizeof(attributes)));
}

/// Returns zeroed arguments. The kernel refuses an argument if one of its unused bytes isn't zero, even in padding
/// between union members.
bpf_attr emptyAttributes() {
    bpf_attr attributes;
    std::memset(&attributes, 0, sizeof(attributes));
    return attributes;
}

std::uint64_t address(const void* at) {
    return reinterpret_cast<std::uintptr_t>(at);
}

}  // namespace

UniqueFd createBpfMap(const BpfMapAttributes& attributes) {
    bpf_attr args = emptyAttributes();
    args.map_type = attributes.type;
    args.key_size = attributes.keySize;
    args.value_size = attributes.valueSize;
    args.max_entries = attributes.maxEntries;
    args.map_flags = attributes.flags;
    args.map_extra = attributes.extra;
    args.map_ifindex = attributes.ifindex;
    attributes.name.copy(args.map_name, sizeof(args.map_name) - 1);
    return UniqueFd(sys(call(BPF_MAP_CREATE, args), "create BPF map \"{}\" of type {} with {} entries", attributes.name,
                        attributes.type, attributes.maxEntries));
}

UniqueFd openBpfMap(std::uint32_t mapId, std::uint32_t flags) {
    bpf_attr args = emptyAttributes();
    args.map_id = mapId;
    args.open_flags = flags;
    return UniqueFd(sys(call(BPF_MAP_GET_FD_BY_ID, args), "open BPF map {}", mapId));
}

BpfMapNames readBpfMapNames(int map) {
    bpf_map_info info{};
    bpf_attr args = emptyAttributes();
    args.info.bpf_fd = static_cast<std::uint32_t>(map);
    args.info.info_len = sizeof(info);
    args.info.info = address(&info);
    sys(call(BPF_OBJ_GET_INFO_BY_FD, args), "read what BPF map fd {} is", map);
    return {info.id, info.ifindex, std::string(info.name, ::strnlen(info.name, sizeof(info.name)))};
}

BpfMapContent readBpfMap(int map, const BpfMapAttributes& attributes) {
    BpfMapContent content;
    // Position at which the next batch begins, as the kernel returns it. It has the size of a key, but at least 4
    // bytes: for a hash map, the kernel stores a 32-bit bucket number in it.
    std::vector<std::byte> cursor(std::max<std::size_t>(attributes.keySize, sizeof(std::uint64_t)));
    std::uint32_t room = std::min(attributes.maxEntries, kBatch);
    for (bool first = true;;) {
        const std::size_t keysBefore = content.keys.size();
        const std::size_t valuesBefore = content.values.size();
        content.keys.resize(keysBefore + std::size_t{room} * attributes.keySize);
        content.values.resize(valuesBefore + std::size_t{room} * attributes.valueSize);
        bpf_attr args = emptyAttributes();
        args.batch.in_batch = first ? 0 : address(cursor.data());
        args.batch.out_batch = address(cursor.data());
        args.batch.keys = address(content.keys.data() + keysBefore);
        args.batch.values = address(content.values.data() + valuesBefore);
        args.batch.count = room;
        args.batch.map_fd = static_cast<std::uint32_t>(map);
        const int result = call(BPF_MAP_LOOKUP_BATCH, args);
        const int code = result < 0 ? errno : 0;
        const bool tooSmall = code == ENOSPC;  // one bucket of a hash map has more elements than the buffer can hold
        const std::uint32_t got = tooSmall ? 0 : args.batch.count;
        if (code != 0 && code != ENOENT && !tooSmall)
            failWith(code, "read the elements of a BPF map");
        content.count += got;
        content.keys.resize(keysBefore + std::size_t{got} * attributes.keySize);
        content.values.resize(valuesBefore + std::size_t{got} * attributes.valueSize);
        if (code == ENOENT)
            return content;
        if (tooSmall && room >= attributes.maxEntries)
            failWith(code, "read the elements of a BPF map");
        if (tooSmall)
            room = room > attributes.maxEntries / 2 ? attributes.maxEntries : room * 2;
        else
            first = false;
    }
}

void fillBpfMap(int map, std::uint32_t count, std::span<const std::byte> keys, std::span<const std::byte> values) {
    bpf_attr args = emptyAttributes();
    args.batch.keys = address(keys.data());
    args.batch.values = address(values.data());
    args.batch.count = count;
    args.batch.map_fd = static_cast<std::uint32_t>(map);
    sys(call(BPF_MAP_UPDATE_BATCH, args), "put {} elements into a BPF map", count);
}

void freezeBpfMap(int map) {
    bpf_attr args = emptyAttributes();
    args.map_fd = static_cast<std::uint32_t>(map);
    sys(call(BPF_MAP_FREEZE, args), "freeze a BPF map");
}

}  // namespace criu::kernel
