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

/// Dump half of segments: shared anonymous memory and memfds. The kernel and images treat both as inodes of the
/// internal tmpfs, or of hugetlbfs.
/// Collects segments that all processes of a tree map and have open, and writes the content once per inode. Processes
/// must stay frozen until write().
class SegmentsDump {
public:
    SegmentsDump();

    /// Returns rules with the device numbers of this machine.
    [[nodiscard]] VmaDumpRules rules() const noexcept;

    /// Returns the file id for a mapping. The first call for a segment creates an entry without a descriptor; later
    /// calls reuse it.
    FileId fileFor(const kernel::ProcPid& process, const kernel::Vma& vma, files::FileDump& dump);

    /// Result of find(), for callers that store entries themselves. `fresh` is null if the entry exists already; it
    /// lives as long as this object.
    struct Mapped {
        FileId id;
        FileEntry* fresh = nullptr;
    };
    Mapped find(const kernel::ProcPid& process, const kernel::Vma& vma, const std::function<FileId()>& nextId);

    /// Returns true if a descriptor refers to a memfd or shared memory.
    [[nodiscard]] bool claims(const files::OpenFd& file) const;
    /// Returns the inode id for a descriptor. `images` must be those of write().
    std::uint32_t inodeFor(const files::OpenFd& file, const ImageDir& images);

    /// Reserves an image number that is in use for other content. Must precede write().
    void reserve(std::uint32_t shmid) { shmids_.insert(shmid); }

    /// Writes contents and memfd.img. Must follow all processes and files.
    SegmentsDumpResult write(const ImageDir& images, PageSinks& sinks, const model::IdMap& owners, Drainer& drainer);

private:
    struct Segment {
        std::string name;
        std::string path;       ///< path through a process; it can be opened as long as the process is frozen
        UniqueFd kept;          ///< replaces `path` for files without a descriptor number
        bool readable = false;  ///< readable through the process of `path`; otherwise the client needs permission to
                                ///< read it
        struct stat stat {};
        std::uint32_t seals = 0;
        std::uint32_t hugeFlag = 0;  ///< MFD_HUGETLB and the page size; 0 for ordinary pages
        FileId mappedAs;             ///< 0 until a mapping is found

        [[nodiscard]] std::uint64_t size() const noexcept { return static_cast<std::uint64_t>(stat.st_size); }
    };
    using Key = std::pair<dev_t, ino_t>;

    std::size_t add(int fd, std::string path, bool readable);
    std::uint32_t chooseShmid(ino_t inode);

    Arena arena_;
    dev_t device_ = 0;
    std::vector<Segment> segments_;  ///< an inode id is an index in it plus 1
    std::map<Key, std::size_t> byInode_;
    std::set<std::uint32_t> shmids_;
};

/// Writes the content of a shared memory file as MemoryObject::shared(shmid). `name` is for messages. Returns the
/// number of pages written. Throws Error.
std::uint64_t writeSharedContent(int fd, std::string_view name, std::uint32_t shmid, std::uint64_t size,
                                 PageSinks& sinks, Drainer& drainer);

/// Files behind mappings, through /proc/PID/map_files. Subclasses add fileFor().
class ProcMappedFiles : public MappedFileDump {
public:
    ProcMappedFiles(const kernel::ProcPid& process, SegmentsDump& segments, files::FileDump& dump) noexcept
        : process_(process), segments_(segments), dump_(dump) {}

    FileId segmentFor(const kernel::Vma& vma) override { return segments_.fileFor(process_, vma, dump_); }
    int accessOf(const kernel::Vma& vma) override { return access(process_, vma); }
    bool isPlain(const kernel::Vma& vma) override { return plain(process_, vma); }

    /// Implement accessOf() and isPlain().
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
