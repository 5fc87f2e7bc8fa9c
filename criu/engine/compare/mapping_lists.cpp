// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/compare/mapping_lists.hpp"

#include <algorithm>

#include "criu/image/record.hpp"
#include "criu/memory/mappings/vma_status.hpp"

namespace criu::engine {
namespace {

/// Returns true if the mapping has no offset in a file. The kernel then chooses pgoff.
bool isWithoutOffset(const VmaEntry& vma) noexcept {
    return memory::is(vma, memory::VmaStatus::AnonPrivate);
}

bool continues(const VmaEntry& first, const VmaEntry& second) noexcept {
    const bool sameOffsets = isWithoutOffset(first) || first.pgoff + (first.end - first.start) == second.pgoff;
    const auto optional = [](auto has, auto value) { return has != 0 ? value : decltype(value){}; };
    return first.end == second.start && sameOffsets && first.shmid == second.shmid && first.prot == second.prot &&
           first.flags == second.flags && first.status == second.status && first.fd == second.fd &&
           optional(first.has_madv, first.madv) == optional(second.has_madv, second.madv) &&
           optional(first.has_fdflags, first.fdflags) == optional(second.has_fdflags, second.fdflags) &&
           optional(first.has_lock_on_fault, first.lock_on_fault) ==
               optional(second.has_lock_on_fault, second.lock_on_fault) &&
           optional(first.has_sealed, first.sealed) == optional(second.has_sealed, second.sealed) &&
           first.has_memory_policy == second.has_memory_policy && first.memory_policy == second.memory_policy &&
           std::ranges::equal(list(first.memory_nodes, first.n_memory_nodes),
                              list(second.memory_nodes, second.n_memory_nodes));
}

}  // namespace

MappingList::MappingList(const MmEntry& memory) : memory_(memory) {
    // The kernel shows its vsyscall page to a process if its last program was one of 64 bits, which a restore can't
    // set.
    for (const VmaEntry* const vma : list(memory.vmas, memory.n_vmas))
        if (!memory::is(*vma, memory::VmaStatus::Vsyscall))
            mappings_.push_back(*vma);
    std::ranges::sort(mappings_, {}, &VmaEntry::start);
}

const MmEntry& MappingList::memory() {
    pointers_.clear();
    for (VmaEntry& vma : mappings_)
        pointers_.push_back(&vma);
    memory_.n_vmas = pointers_.size();
    memory_.vmas = pointers_.data();
    return memory_;
}

bool MappingList::has(const VmaEntry& mapping) const noexcept {
    const auto at = std::ranges::lower_bound(mappings_, mapping.start, {}, &VmaEntry::start);
    return at != mappings_.end() && at->start == mapping.start && at->end == mapping.end;
}

void MappingList::join() {
    std::deque<VmaEntry> joined;
    for (const VmaEntry& vma : mappings_) {
        if (!joined.empty() && continues(joined.back(), vma)) {
            joined.back().end = vma.end;
            // The kernel counts shared pages for each mapping.
            joined.back().exclusive = joined.back().exclusive != 0 && vma.exclusive != 0 ? 1 : 0;
        } else {
            joined.push_back(vma);
        }
    }
    mappings_ = std::move(joined);
}

void MappingList::divide(std::uint64_t address) {
    const auto after = std::ranges::upper_bound(mappings_, address, {}, &VmaEntry::start);
    if (after == mappings_.begin())
        return;
    const auto at = std::prev(after);
    if (at->start == address || at->end <= address)
        return;
    VmaEntry second = *at;
    second.start = address;
    if (!isWithoutOffset(second))
        second.pgoff += address - at->start;
    at->end = address;
    mappings_.insert(after, second);
}

void splitAlike(MappingList& one, MappingList& other) {
    one.join();
    other.join();
    // A mapping of which a part has changed is divided in the other list, too, so that only that part differs.
    const auto bordersOf = [](const MappingList& mappings) {
        std::vector<std::uint64_t> borders;
        for (const VmaEntry& vma : mappings.mappings()) {
            borders.push_back(vma.start);
            borders.push_back(vma.end);
        }
        return borders;
    };
    const std::vector<std::uint64_t> before = bordersOf(one);
    for (const std::uint64_t border : bordersOf(other))
        one.divide(border);
    for (const std::uint64_t border : before)
        other.divide(border);
}

}  // namespace criu::engine
