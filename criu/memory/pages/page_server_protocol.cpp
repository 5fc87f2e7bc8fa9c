// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages/page_server_protocol.hpp"

namespace criu::memory {
namespace {

constexpr unsigned kKindBits = 8;
constexpr std::uint64_t kProcess = 1;
constexpr std::uint64_t kShared = 2;

}  // namespace

std::uint64_t objectNumber(const MemoryObject& object) noexcept {
    return object.id << kKindBits | (object.kind == MemoryObject::Kind::Process ? kProcess : kShared);
}

std::optional<MemoryObject> objectOf(std::uint64_t number) noexcept {
    const std::uint64_t id = number >> kKindBits;
    switch (number & ((1U << kKindBits) - 1)) {
        case kProcess:
        case 10:  // this number and the next ones are image types, which CRIU before 3.3 sends
        case 11:
        case 16:
        case 17:
            return MemoryObject{MemoryObject::Kind::Process, id};
        case kShared:
        case 27:
        case 28:
        case 29:
        case 32:
        case 33:
        case 34:
            return MemoryObject{MemoryObject::Kind::Shared, id};
        default:
            return std::nullopt;
    }
}

}  // namespace criu::memory
