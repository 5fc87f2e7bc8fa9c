// SPDX-License-Identifier: GPL-2.0-only
#include "fuse_files.hpp"

#include <linux/fuse.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fuse.hpp"

namespace zdtm {
namespace {

constexpr int kPause = 5;  // milliseconds between two checks of `ending`

struct File {
    std::string content;
    std::uint32_t mode = 0;
    std::uint32_t names = 0;
};

// A name that a file has or had.
struct Node {
    std::shared_ptr<File> file;
    std::string name;  // empty if the name is deleted
    unsigned opened = 0;

    [[nodiscard]] bool exists() const { return !name.empty() || opened != 0; }
};

class Files {
public:
    explicit Files(int server) : server_(server) {}

    void answer(const std::vector<char>& bytes);

private:
    void error(int code) { answer_fuse_request(server_, unique_, code, nullptr, 0); }
    template <typename Answer>
    void say(const Answer& answer) {
        answer_fuse_request(server_, unique_, 0, &answer, sizeof(answer));
    }

    std::uint64_t find(const std::string& name) const {
        const auto found =
            std::find_if(nodes_.begin(), nodes_.end(), [&](const auto& item) { return item.second.name == name; });
        return found == nodes_.end() ? 0 : found->first;
    }
    fuse_attr attributes(std::uint64_t number) const {
        fuse_attr out{};
        out.ino = number;
        out.nlink = 1;
        out.mode = S_IFDIR | 0755;
        if (number != FUSE_ROOT_ID) {
            const File& file = *nodes_.at(number).file;
            out.mode = file.mode;
            out.nlink = file.names;
            out.size = file.content.size();
        }
        return out;
    }
    void sayEntry(std::uint64_t number) {
        fuse_entry_out out{};
        out.nodeid = number;
        out.attr = attributes(number);
        say(out);
    }
    void sayAttributes(std::uint64_t number) {
        fuse_attr_out out{};
        out.attr = attributes(number);
        say(out);
    }
    std::uint64_t add(const std::string& name, std::shared_ptr<File> file) {
        ++file->names;
        nodes_[++last_] = {std::move(file), name, 0};
        return last_;
    }
    void unlink(const std::string& name) {
        const std::uint64_t number = find(name);
        if (number == 0)
            return error(ENOENT);
        Node& node = nodes_.at(number);
        node.name.clear();
        --node.file->names;
        error(0);
    }
    void change(const fuse_setattr_in& in, std::uint64_t number) {
        File& file = *nodes_.at(number).file;
        if ((in.valid & FATTR_SIZE) != 0)
            file.content.resize(in.size);
        if ((in.valid & FATTR_MODE) != 0)
            file.mode = in.mode;
        sayAttributes(number);
    }
    void write(const fuse_write_in& in, const char* data, std::string& content) {
        content.resize(std::max<std::size_t>(content.size(), in.offset + in.size));
        content.replace(in.offset, in.size, data, in.size);
        fuse_write_out out{};
        out.size = in.size;
        say(out);
    }
    void read(const fuse_read_in& in, const std::string& content) {
        const std::size_t from = std::min<std::size_t>(in.offset, content.size());
        const std::size_t size = std::min<std::size_t>(in.size, content.size() - from);
        answer_fuse_request(server_, unique_, 0, content.data() + from, size);
    }

    int server_;
    std::uint64_t unique_ = 0;
    std::map<std::uint64_t, Node> nodes_;
    std::uint64_t last_ = FUSE_ROOT_ID;
};

template <typename In>
In read_as(const char* body) {
    In in{};
    memcpy(&in, body, sizeof(in));
    return in;
}

void Files::answer(const std::vector<char>& bytes) {
    const auto request = read_as<fuse_in_header>(bytes.data());
    const char* const body = bytes.data() + sizeof(request);
    const std::uint64_t number = request.nodeid;
    unique_ = request.unique;
    if (number != FUSE_ROOT_ID && number != 0 && request.opcode != FUSE_FORGET && !nodes_.at(number).exists())
        return error(ENOENT);
    switch (request.opcode) {
        case FUSE_INIT: {
            fuse_init_out out{};
            out.major = FUSE_KERNEL_VERSION;
            out.minor = 31;
            out.max_write = 4096;
            return say(out);
        }
        case FUSE_LOOKUP:
            return find(body) == 0 ? error(ENOENT) : sayEntry(find(body));
        case FUSE_MKNOD: {
            auto file = std::make_shared<File>();
            file->mode = read_as<fuse_mknod_in>(body).mode;
            return sayEntry(add(body + sizeof(fuse_mknod_in), std::move(file)));
        }
        case FUSE_LINK:
            return sayEntry(add(body + sizeof(fuse_link_in), nodes_.at(read_as<fuse_link_in>(body).oldnodeid).file));
        case FUSE_UNLINK:
            return unlink(body);
        case FUSE_GETATTR:
            return sayAttributes(number);
        case FUSE_SETATTR:
            return change(read_as<fuse_setattr_in>(body), number);
        case FUSE_OPEN:
            ++nodes_.at(number).opened;
            return say(fuse_open_out{});
        case FUSE_OPENDIR:
            return say(fuse_open_out{});
        case FUSE_RELEASE:
            --nodes_.at(number).opened;
            return error(0);
        case FUSE_READ:
            return read(read_as<fuse_read_in>(body), nodes_.at(number).file->content);
        case FUSE_WRITE:
            return write(read_as<fuse_write_in>(body), body + sizeof(fuse_write_in), nodes_.at(number).file->content);
        case FUSE_STATFS:
            return say(fuse_statfs_out{});
        case FUSE_READDIR:
        case FUSE_RELEASEDIR:
        case FUSE_FLUSH:
            return error(0);
        case FUSE_FORGET:
        case FUSE_BATCH_FORGET:
        case FUSE_INTERRUPT:
            return;
        default:  // also FUSE_CREATE: the kernel makes a node then, and opens it
            return error(ENOSYS);
    }
}

}  // namespace

void serve_files(int server, const std::atomic<bool>& ending) {
    Files files(server);
    std::vector<char> bytes;
    while (!ending) {
        switch (take_fuse_request(server, kPause, bytes)) {
            case FuseTaken::Nothing:
                continue;
            case FuseTaken::Gone:
                return;
            case FuseTaken::Request:
                files.answer(bytes);
        }
    }
}

}  // namespace zdtm
