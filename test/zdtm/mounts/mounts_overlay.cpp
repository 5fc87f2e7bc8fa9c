// SPDX-License-Identifier: GPL-2.0-only
// zdtm: ignore fd 0 stat
// zdtm: also new-pidns, new-pidns-again
// zdtm: fails-with-4.2 it wants overlays to be external
// zdtm: restore-options --root /
// zdtm: may-differ tmpfs-dev: \./work/
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "mounts.hpp"
#include "zdtm.hpp"

namespace {

void write_file(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
}

std::string content_of(const std::string& path) {
    std::ifstream file(path);
    std::string text;
    std::getline(file, text);
    return text;
}

}  // namespace

ZDTM(
    "an overlay: layers in the tree, a deleted file, a mount on it, a bind mount of a part, an open file, and an "
    "overlay of this overlay") {
    zdtm::enter_small_root();
    zdtm::mount_on("/mnt", "tmpfs", "mode=755");
    for (const char* const name : {"/mnt/one", "/mnt/two", "/mnt/two/folder", "/mnt/upper", "/mnt/work", "/mnt/merged",
                                   "/mnt/part", "/mnt/again"})
        SYS(mkdir(name, 0755));
    write_file("/mnt/one/first", "first");
    write_file("/mnt/two/first", "hidden");
    write_file("/mnt/two/second", "second");
    write_file("/mnt/two/gone", "gone");
    write_file("/mnt/two/folder/inner", "inner");
    // The kernel uses the ids of these mounts again, so that an overlay gets a lower id than its layer. An overlay also
    // takes an id for each of its layers.
    constexpr int kIds = 8;
    for (int i = 0; i < kIds; ++i)
        SYS(mount("first", "/mnt/again", "tmpfs", 0, nullptr));
    if (mount("layers", "/mnt/merged", "overlay", 0,
              "lowerdir=/mnt/one:/mnt/two,upperdir=/mnt/upper,workdir=/mnt/work") != 0)
        zdtm::skip("no overlayfs here: %s", strerror(errno));
    SYS(unlink("/mnt/merged/gone"));
    write_file("/mnt/merged/second", "changed");
    zdtm::mount_on("/mnt/merged/mounted", "tmpfs");
    write_file("/mnt/merged/mounted/file", "in memory");
    zdtm::bind_on("/mnt/merged/folder", "/mnt/part");
    for (int i = 0; i < kIds; ++i)
        SYS(umount("/mnt/again"));
    SYS(mount("again", "/mnt/again", "overlay", 0, "lowerdir=/mnt/merged:/mnt/one"));
    const int opened = SYS(open("/mnt/merged/second", O_RDWR));
    const auto before = zdtm::mount_lines();

    me.wait_for_check();

    zdtm::check_mounts(before);
    for (const auto& [path, text] :
         {std::pair("/mnt/merged/first", "first"), std::pair("/mnt/merged/second", "changed"),
          std::pair("/mnt/merged/mounted/file", "in memory"), std::pair("/mnt/part/inner", "inner"),
          std::pair("/mnt/again/second", "changed")})
        CHECK(content_of(path) == text, "%s has %s", path, content_of(path).c_str());
    CHECK(access("/mnt/merged/gone", F_OK) != 0 && errno == ENOENT, "a deleted file of a lower layer is back");
    SYS(pwrite(opened, "C", 1, 0));
    CHECK(content_of("/mnt/upper/second") == "Changed", "%s", content_of("/mnt/upper/second").c_str());
    write_file("/mnt/merged/new", "new");
    CHECK(content_of("/mnt/upper/new") == "new", "a new file isn't in the upper layer");
}
