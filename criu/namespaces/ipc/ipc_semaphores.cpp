// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/ipc/ipc_semaphores.hpp"

#include <sys/sem.h>

#include <algorithm>
#include <span>

#include "criu/base/error.hpp"
#include "criu/kernel/fsuid_scope.hpp"
#include "criu/kernel/sysv_ipc.hpp"
#include "criu/model/ipc_owner.hpp"
#include "images/ipc-sem.hpp"

namespace criu::namespaces {
namespace {

constexpr std::uint64_t kValuesAlignment = 8;   // alignment of the image entry after the values
constexpr std::uint16_t kHighestValue = 32767;  // SEMVMX

union Argument {
    int value;
    semid_ds* status;
    std::uint16_t* values;
};

std::uint64_t paddingOfValues(std::uint64_t bytes) {
    return (kValuesAlignment - bytes % kValuesAlignment) % kValuesAlignment;
}

semid_ds statusOfSet(int id) {
    semid_ds status{};
    Argument argument{};
    argument.status = &status;
    sys(::semctl(id, 0, IPC_STAT, argument), "look at semaphore set {}", id);
    return status;
}

}  // namespace

std::vector<SemaphoreSet> readSemaphoreSets() {
    std::vector<SemaphoreSet> sets;
    for (const int id : kernel::listIpcIds(kernel::IpcKind::Semaphores)) {
        const semid_ds status = statusOfSet(id);
        SemaphoreSet set;
        set.desc = model::describeIpc(id, status.sem_perm);
        set.values.resize(status.sem_nsems);
        Argument argument{};
        argument.values = set.values.data();
        sys(::semctl(id, 0, GETALL, argument), "read the values of semaphore set {}", id);
        sets.push_back(std::move(set));
    }
    return sets;
}

std::vector<int> listUsedSemaphoreSets() {
    std::vector<int> used;
    for (const int id : kernel::listIpcIds(kernel::IpcKind::Semaphores)) {
        semid_ds status{};
        Argument argument{};
        argument.status = &status;
        if (::semctl(id, 0, IPC_STAT, argument) == 0 && status.sem_otime != 0)
            used.push_back(id);
    }
    return used;
}

std::optional<std::vector<std::uint16_t>> readSemaphoreValues(int id) {
    semid_ds status{};
    Argument argument{};
    argument.status = &status;
    if (::semctl(id, 0, IPC_STAT, argument) != 0)
        return std::nullopt;
    std::vector<std::uint16_t> values(status.sem_nsems);
    argument.values = values.data();
    if (::semctl(id, 0, GETALL, argument) != 0)
        return std::nullopt;
    return values;
}

void writeSemaphoreSets(ImageWriter& image, const std::vector<SemaphoreSet>& sets) {
    for (const SemaphoreSet& set : sets) {
        IpcDescEntry desc = set.desc;
        IpcSemEntry entry = IPC_SEM_ENTRY__INIT;
        entry.desc = &desc;
        entry.nsems = static_cast<std::uint32_t>(set.values.size());
        std::vector<SemAdjustment> adjustments(set.adjustments.size(), SEM_ADJUSTMENT__INIT);
        std::vector<SemAdjustment*> pointers;
        for (std::size_t i = 0; i < adjustments.size(); ++i) {
            adjustments[i].pid = static_cast<std::uint32_t>(set.adjustments[i].pid.value);
            adjustments[i].index = set.adjustments[i].adjustment.index;
            adjustments[i].amount = set.adjustments[i].adjustment.amount;
            pointers.push_back(&adjustments[i]);
        }
        entry.n_adjustments = pointers.size();
        entry.adjustments = pointers.data();
        image.write(entry);
        const auto bytes = std::as_bytes(std::span(set.values));
        image.payload(bytes);
        image.zeros(paddingOfValues(bytes.size()));
    }
}

std::vector<SemaphoreSet> parseSemaphoreSets(ImageReader& image) {
    std::vector<SemaphoreSet> sets;
    while (const auto entry = image.next<IpcSemEntry>()) {
        SemaphoreSet& set = sets.emplace_back();
        set.desc = *(*entry)->desc;
        set.desc.base.n_unknown_fields = 0;  // `record` owns these fields and frees them
        set.desc.base.unknown_fields = nullptr;
        model::requireIpcDesc(set.desc, "a semaphore set");
        const std::uint64_t size = std::uint64_t{(*entry)->nsems} * sizeof(std::uint16_t);
        const std::vector<std::byte> bytes = image.payload(size);
        set.values.resize((*entry)->nsems);
        std::copy(bytes.begin(), bytes.end(), std::as_writable_bytes(std::span(set.values)).begin());
        image.skipPayload(paddingOfValues(size));
        for (const SemAdjustment* held : list((*entry)->adjustments, (*entry)->n_adjustments)) {
            if (held->index >= set.values.size())
                fail("{}: semaphore {} of set {}, which has {}, is adjusted", image.name(), held->index, set.id(),
                     set.values.size());
            if (held->amount < -kHighestValue || held->amount > kHighestValue)
                fail("{}: a semaphore of set {} is adjusted by {}", image.name(), set.id(), held->amount);
            set.adjustments.push_back(
                {TreePid(static_cast<pid_t>(held->pid)), {static_cast<std::uint16_t>(held->index), held->amount}});
        }
        if (std::any_of(set.values.begin(), set.values.end(),
                        [](std::uint16_t value) { return value > kHighestValue; }))
            fail("{}: a semaphore of set {} has a value above {}", image.name(), set.desc.id, kHighestValue);
    }
    return sets;
}

void makeSemaphoreSet(const SemaphoreSet& set) {
    const int id = static_cast<int>(set.desc.id);
    kernel::chooseNextIpcId(kernel::IpcKind::Semaphores, id);
    int made = -1;
    kernel::withEffectiveIds(set.desc.cuid, set.desc.cgid, [&] {
        made = ::semget(static_cast<key_t>(set.desc.key), static_cast<int>(set.values.size()),
                        IPC_CREAT | IPC_EXCL | static_cast<int>(set.desc.mode & 0777U));
        sys(made, "create semaphore set {} of {}", id, set.values.size());
    });
    if (made != id)
        fail("semaphore set {} got the id {}", id, made);
    std::vector<std::uint16_t> values = set.values;
    Argument argument{};
    argument.values = values.data();
    sys(::semctl(id, 0, SETALL, argument), "set the values of semaphore set {}", id);
    semid_ds status = statusOfSet(id);
    status.sem_perm.uid = set.desc.uid;
    status.sem_perm.gid = set.desc.gid;
    argument.status = &status;
    sys(::semctl(id, 0, IPC_SET, argument), "give semaphore set {} to its owner", id);
}

void applySemUndo(std::span<const SemaphoreSet> sets, TreePid pid) {
    for (const SemaphoreSet& set : sets)
        for (const HeldSemUndo& held : set.adjustments) {
            if (held.pid != pid)
                continue;
            const std::uint16_t index = held.adjustment.index;
            std::vector<sembuf> operations = operationsFor(held.adjustment, set.values[index]);
            sys(::semop(set.id(), operations.data(), operations.size()), "adjust semaphore {} of set {} by {}", index,
                set.id(), held.adjustment.amount);
        }
}

}  // namespace criu::namespaces
