// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/image/arena.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/memory/mappings/vma_dump.hpp"
#include "images/fdinfo.fwd.hpp"

namespace criu {
class ImageDir;
}

namespace criu::files {
class FileDump;
struct OpenFd;
}  // namespace criu::files

namespace criu::memory {
class Drainer;
class PageSinks;
}  // namespace criu::memory

namespace criu::model {
class IdMap;
}

namespace criu::memory {

struct SegmentsDumpResult {
    std::uint64_t pagesScanned = 0;
    std::uint64_t pagesWritten = 0;
    std::chrono::microseconds moving{};
};

/// Dump half of shared anonymous memory and memfds, which are the same to the kernel, and to images: each is an inode
/// of its internal tmpfs (or hugetlbfs). Gathers what all processes of a tree map and have open; the content is written
/// once per inode. Processes stay stopped, and keep what they have mapped and open, until write().
class SegmentsDump {
public:
    SegmentsDump();

    /// Rules with the device numbers of this machine.
    [[nodiscard]] VmaDumpRules rules() const noexcept;

    /// For a mapping. The entry that is made for the first one has no descriptor; others use the same.
    FileId fileFor(const kernel::ProcPid& process, const kernel::Vma& vma, files::FileDump& dump);

    /// The same, for whoever keeps entries himself. `fresh` is null if the entry was made earlier; it lives as long as
    /// this object.
    struct Mapped {
        FileId id;
        FileEntry* fresh = nullptr;
    };
    Mapped find(const kernel::ProcPid& process, const kernel::Vma& vma, const std::function<FileId()>& nextId);

    /// Whether a descriptor is one of a memfd or of shared memory.
    [[nodiscard]] bool claims(const files::OpenFd& file) const;
    /// For a descriptor: the inode id. `images` are those of write().
    std::uint32_t inodeFor(const files::OpenFd& file, const ImageDir& images);

    /// A number that names images of others' contents: no segment gets it. Before write().
    void reserve(std::uint32_t shmid) { shmids_.insert(shmid); }

    /// Writes contents and memfd.img. After all processes and files were seen.
    SegmentsDumpResult write(const ImageDir& images, PageSinks& sinks, const model::IdMap& owners, Drainer& drainer);

private:
    struct Segment {
        std::string name;
        std::string path;       ///< leads to it through a process; it can be opened again while that is stopped
        UniqueFd kept;          ///< instead of the path, for files that have no descriptor number
        bool readable = false;  ///< by the process of the path; otherwise the client has to have the right to read it
        struct stat stat {};
        std::uint32_t seals = 0;
        std::uint32_t hugeFlag = 0;  ///< MFD_HUGETLB and the page size; 0 for small pages
        FileId mappedAs;             ///< 0 while no mapping was seen

        [[nodiscard]] std::uint64_t size() const noexcept { return static_cast<std::uint64_t>(stat.st_size); }
    };
    using Key = std::pair<dev_t, ino_t>;

    std::size_t add(int fd, std::string path, bool readable);
    std::uint32_t chooseShmid(ino_t inode);

    Arena arena_;
    dev_t device_ = 0;
    std::vector<Segment> segments_;  ///< inode ids are their positions, counted from 1
    std::map<Key, std::size_t> byInode_;
    std::set<std::uint32_t> shmids_;
};

/// Writes what a file of shared memory holds, as MemoryObject::shared(shmid); `name` is for messages. Returns pages
/// written. Throws Error.
std::uint64_t writeSharedContent(int fd, std::string_view name, std::uint32_t shmid, std::uint64_t size,
                                 PageSinks& sinks, Drainer& drainer);

/// The file behind a mapping, through /proc/PID/map_files; only paths are left to the heir.
class ProcMappedFiles : public MappedFileDump {
public:
    ProcMappedFiles(const kernel::ProcPid& process, SegmentsDump& segments, files::FileDump& dump) noexcept
        : process_(process), segments_(segments), dump_(dump) {}

    FileId segmentFor(const kernel::Vma& vma) override { return segments_.fileFor(process_, vma, dump_); }
    int accessOf(const kernel::Vma& vma) override { return access(process_, vma); }
    bool isPlain(const kernel::Vma& vma) override { return plain(process_, vma); }

    /// What the two answer.
    [[nodiscard]] static int access(const kernel::ProcPid& process, const kernel::Vma& vma);
    [[nodiscard]] static bool plain(const kernel::ProcPid& process, const kernel::Vma& vma);
    /// Opens the file of a mapping (O_PATH, O_RDONLY …). Needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN.
    [[nodiscard]] static UniqueFd open(const kernel::ProcPid& process, const kernel::Vma& vma, int flags);

protected:
    [[nodiscard]] const kernel::ProcPid& process() const noexcept { return process_; }

private:
    const kernel::ProcPid& process_;
    SegmentsDump& segments_;
    files::FileDump& dump_;
};

}  // namespace criu::memory
