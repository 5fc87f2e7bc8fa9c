// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 two descriptions of one map become two maps
#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/syscall.h>

#include "zdtm.hpp"

namespace {

int call(bpf_cmd command, bpf_attr& attributes) {
    return static_cast<int>(syscall(SYS_bpf, command, &attributes, sizeof attributes));
}

int create(bpf_map_type type, std::uint32_t key_size, std::uint32_t value_size, std::uint32_t entries,
           const char* name) {
    bpf_attr attributes{};
    attributes.map_type = type;
    attributes.key_size = key_size;
    attributes.value_size = value_size;
    attributes.max_entries = entries;
    strncpy(attributes.map_name, name, sizeof attributes.map_name - 1);
    const int map = call(BPF_MAP_CREATE, attributes);
    if (map == -1) {
        zdtm::skip("no BPF maps here: %s", strerror(errno));
    }
    return map;
}

int element(bpf_cmd command, int map, const void* key, void* value) {
    bpf_attr attributes{};
    attributes.map_fd = static_cast<std::uint32_t>(map);
    attributes.key = reinterpret_cast<std::uintptr_t>(key);
    attributes.value = reinterpret_cast<std::uintptr_t>(value);
    return call(command, attributes);
}

bpf_map_info info_of(int map) {
    bpf_map_info info{};
    bpf_attr attributes{};
    attributes.info.bpf_fd = static_cast<std::uint32_t>(map);
    attributes.info.info_len = sizeof info;
    attributes.info.info = reinterpret_cast<std::uintptr_t>(&info);
    SYS(call(BPF_OBJ_GET_INFO_BY_FD, attributes));
    return info;
}

}  // namespace

ZDTM("BPF hash and array maps keep elements, names, the frozen flag and read-only descriptors") {
    const int hash = create(BPF_MAP_TYPE_HASH, 3, 10, 5000, "some_hash");
    for (std::uint32_t i = 0; i < 3000; ++i) {
        char value[10] = {};
        snprintf(value, sizeof value, "v%u", i);
        SYS(element(BPF_MAP_UPDATE_ELEM, hash, &i, value));
    }
    const int array = create(BPF_MAP_TYPE_ARRAY, 4, 8, 70000, "some.array");
    for (std::uint32_t i = 0; i < 70000; i += 1000) {
        std::uint64_t value = i * 3;
        SYS(element(BPF_MAP_UPDATE_ELEM, array, &i, &value));
    }
    bpf_attr attributes{};
    attributes.map_fd = static_cast<std::uint32_t>(array);
    SYS(call(BPF_MAP_FREEZE, attributes));
    attributes = {};
    attributes.map_id = info_of(hash).id;
    attributes.open_flags = BPF_F_RDONLY;
    const int reader = SYS(call(BPF_MAP_GET_FD_BY_ID, attributes));
    const int empty = create(BPF_MAP_TYPE_HASH, 4, 4, 10, "");
    me.wait_for_check();

    CHECK(strcmp(info_of(hash).name, "some_hash") == 0, "name %s", info_of(hash).name);
    CHECK(info_of(hash).id == info_of(reader).id, "the descriptors are of different maps");
    for (std::uint32_t i = 0; i < 3000; ++i) {
        char expected[10] = {};
        char value[10] = {};
        snprintf(expected, sizeof expected, "v%u", i);
        SYS(element(BPF_MAP_LOOKUP_ELEM, reader, &i, value));
        CHECK(strcmp(value, expected) == 0, "%s instead of %s", value, expected);
    }
    std::uint32_t key = 3000;
    char value[10] = {};
    CHECK(element(BPF_MAP_LOOKUP_ELEM, hash, &key, value) == -1 && errno == ENOENT, "an element more");
    CHECK(element(BPF_MAP_UPDATE_ELEM, reader, &key, value) == -1 && errno == EPERM, "it isn't read-only");
    SYS(element(BPF_MAP_UPDATE_ELEM, hash, &key, value));
    for (std::uint32_t i = 0; i < 70000; i += 500) {
        std::uint64_t number = 1;
        SYS(element(BPF_MAP_LOOKUP_ELEM, array, &i, &number));
        CHECK(number == (i % 1000 == 0 ? i * 3 : 0), "element %u is %lu", i, number);
    }
    std::uint64_t number = 7;
    CHECK(element(BPF_MAP_UPDATE_ELEM, array, &key, &number) == -1 && errno == EPERM, "it isn't frozen");
    CHECK(element(BPF_MAP_LOOKUP_ELEM, empty, &key, value) == -1 && errno == ENOENT, "an element in the empty map");
}
