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

/// Segments of a dump: shared anonymous memory and memfds. For the kernel and in images, both are inodes of the
/// internal tmpfs or of hugetlbfs. This class collects the segments that processes of the tree map or have open, and
/// writes the content of each inode once. The processes must stay frozen until write() returns.
class SegmentsDump {
public:
    SegmentsDump();

    /// Returns the device numbers of the kernel's internal tmpfs on this machine.
    [[nodiscard]] VmaDumpRules rules() const noexcept;

    /// Returns the file id for a mapping of a segment. The first call for a segment adds a file entry that no
    /// descriptor uses. Later calls return the id of this entry.
    FileId fileFor(const kernel::ProcPid& process, const kernel::Vma& vma, files::FileDump& dump);

    /// Result of find(), for callers that store file entries themselves. `fresh`: new entry after the first call for a
    /// segment, null after later calls. This object owns the entry.
    struct Mapped {
        FileId id;
        FileEntry* fresh = nullptr;
    };
    Mapped find(const kernel::ProcPid& process, const kernel::Vma& vma, const std::function<FileId()>& nextId);

    /// Returns true if a descriptor refers to a memfd or to shared anonymous memory.
    [[nodiscard]] bool claims(const files::OpenFd& file) const;
    /// Returns the inode id of a memfd. `images` must be the argument of a later write().
    std::uint32_t inodeFor(const files::OpenFd& file, const ImageDir& images);

    /// Reserves an image number that other shared memory uses, such as System V segments. Must precede write().
    void reserve(std::uint32_t shmid) { shmids_.insert(shmid); }

    /// Writes contents and memfd.img. Must follow all other calls.
    SegmentsDumpResult write(const ImageDir& images, PageSinks& sinks, const model::IdMap& owners, Drainer& drainer);

private:
    struct Segment {
        std::string name;
        std::string path;  ///< path in /proc of a process; it can be opened as long as this process is frozen
        /// Descriptor that replaces `path` if the file has no descriptor number; else empty.
        UniqueFd kept;
        /// True if the process in `path` has the file open for reading. If false, criu reads it only if the client has
        /// permission to read the file.
        bool readable = false;
        /// True if criu couldn't open the shared memory. `kept` then has the content of all its mappings.
        bool copied = false;
        struct stat stat {};
        std::uint32_t seals = 0;
        std::uint32_t hugeFlag = 0;  ///< MFD_HUGETLB and the huge page size; 0 for ordinary pages
        FileId mappedAs;             ///< file id of the entry for mappings; 0 until a mapping is found

        [[nodiscard]] std::uint64_t size() const noexcept { return static_cast<std::uint64_t>(stat.st_size); }
    };
    using Key = std::pair<dev_t, ino_t>;

    std::size_t add(int fd, std::string path, bool readable);
    /// Adds a segment that criu can't open, as a copy without content.
    std::size_t addCopy(const kernel::ProcPid& process, const kernel::Vma& vma);
    /// Copies all mappings of the process that have the inode of `like` into the segment.
    static void copyMappings(const kernel::ProcPid& process, const kernel::Vma& like, Segment& segment);
    std::uint32_t chooseShmid(ino_t inode);

    Arena arena_;
    dev_t device_ = 0;
    std::vector<Segment> segments_;  ///< segments; an inode id is an index into this list plus 1
    std::map<Key, std::size_t> byInode_;
    std::set<std::uint32_t> shmids_;
};

/// Writes the content of a shared memory file as pages of MemoryObject::shared(shmid). `name`: name for error messages.
/// Returns the number of pages written. Throws Error.
std::uint64_t writeSharedContent(int fd, std::string_view name, std::uint32_t shmid, std::uint64_t size,
                                 PageSinks& sinks, Drainer& drainer);

/// Mapped files of a process, opened by kernel::openMappedFile(). Subclasses implement fileFor().
class ProcMappedFiles : public MappedFileDump {
public:
    ProcMappedFiles(const kernel::ProcPid& process, SegmentsDump& segments, files::FileDump& dump) noexcept
        : process_(process), segments_(segments), dump_(dump) {}

    FileId segmentFor(const kernel::Vma& vma) override { return segments_.fileFor(process_, vma, dump_); }
    int accessOf(const kernel::Vma& vma) override { return vma.access >= 0 ? vma.access : access(process_, vma); }
    bool isPlain(const kernel::Vma& vma) override { return plain(process_, vma); }

    /// Implement accessOf() and isPlain() for a process.
    [[nodiscard]] static int access(const kernel::ProcPid& process, const kernel::Vma& vma);
    [[nodiscard]] static bool plain(const kernel::ProcPid& process, const kernel::Vma& vma);
    /// Opens the file of a mapping with `flags` of open(2).
    [[nodiscard]] static UniqueFd open(const kernel::ProcPid& process, const kernel::Vma& vma, int flags);

protected:
    [[nodiscard]] const kernel::ProcPid& process() const noexcept { return process_; }

private:
    const kernel::ProcPid& process_;
    SegmentsDump& segments_;
    files::FileDump& dump_;
};

}  // namespace criu::memory
