// SPDX-License-Identifier: GPL-2.0-only
#include "criu/cgroup/cgroup_dump.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <set>

#include "criu/base/error.hpp"
#include "criu/cgroup/freezer.hpp"
#include "criu/cgroup/hierarchies.hpp"
#include "criu/cgroup/properties.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/cgroupfs.hpp"
#include "criu/model/options.hpp"
#include "images/cgroup.hpp"

namespace criu::cgroup {
namespace {

constexpr std::string_view kNamedPrefix = "name=";
/// Maximal nesting of dumped cgroups. An image nests the entry of a cgroup in the entry of its parent, and readers
/// limit the nesting of messages. Four levels are reserved: two above the cgroups, and two for a property and its
/// owner.
constexpr unsigned kDeepest = kMaxRecordNesting - 4;

std::string readText(const std::string& path) {
    std::ifstream file(path);
    std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (!file)
        failErrno("read cgroup properties from {}", path);
    return text;
}

std::vector<std::string> childrenOf(int group) {
    const int copy = sys(::openat(group, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open a cgroup again");
    struct Close {
        void operator()(DIR* directory) const noexcept { ::closedir(directory); }
    };
    const std::unique_ptr<DIR, Close> list(::fdopendir(copy));
    if (!list) {
        ::close(copy);
        failErrno("list a cgroup");
    }
    std::vector<std::string> names;
    while (const dirent* const entry = ::readdir(list.get()))
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
            names.emplace_back(entry->d_name);
    std::sort(names.begin(), names.end());
    return names;
}

CgroupPerms* permissions(Arena& arena, mode_t mode, uid_t uid, gid_t gid) {
    auto* const entry = arena.make<CgroupPerms>();
    entry->mode = mode;
    entry->uid = uid;
    entry->gid = gid;
    return entry;
}

bool isBelow(const std::string& path, const std::string& above) {
    return path == above || (above != "/" && path.starts_with(above + '/'));
}

}  // namespace

PropertyTable readProperties(const model::Options& options) {
    PropertyTable table;
    if (options.cgroupProps)
        table.change(*options.cgroupProps);
    if (options.cgroupPropsFile)
        table.change(readText(*options.cgroupPropsFile));
    return table;
}

CgroupDump::~CgroupDump() = default;

CgroupDump::CgroupDump(const model::Options& options, const PropertyTable& properties, const Freezer* freezer)
    : options_(options), table_(properties), hierarchies_(std::make_unique<Hierarchies>(options.cgroupYard)) {
    // A kernel without cgroups has no file /proc/PID/cgroup.
    const std::vector<kernel::CgroupLine> own =
        kernel::parseCgroups(kernel::ProcDir().self().tryReadFile("cgroup").value_or(""));
    for (const kernel::CgroupLine& line : own) {
        const std::string name = joined(line.controllers);
        if (isWanted(line) && !name.starts_with(kNamedPrefix))
            controllers_.push_back(name);
    }
    sets_.emplace(std::pair(CgroupNsView::OfCriu, setFrom(own)), kOwnSet);
    if (freezer != nullptr)
        noteFreezer(freezer->unified(), freezer->wasFrozen());
}

bool CgroupDump::isWanted(const kernel::CgroupLine& line) const {
    const auto& wanted = options_.cgroupDumpControllers;
    const auto named = [&](const std::string& name) {
        return std::find(wanted.begin(), wanted.end(), name) != wanted.end();
    };
    return wanted.empty() || named(joined(line.controllers)) ||
           std::any_of(line.controllers.begin(), line.controllers.end(), named);
}

CgroupDump::Set CgroupDump::setFrom(const std::vector<kernel::CgroupLine>& groups) const {
    Set set;
    for (const kernel::CgroupLine& line : groups)
        if (isWanted(line))
            set.emplace(joined(line.controllers), line.path);
    return set;
}

CgroupNsView CgroupDump::addNamespace(const kernel::ProcPid& member) {
    if (options_.cgroupMode == model::CgroupMode::Ignore || options_.unprivileged)
        fail("the tree is in a cgroup namespace of its own, which goes only with its cgroups");
    kernel::ProcBuffer buffer;
    const Set outside = setFrom(kernel::readCgroups(member, buffer));
    const Set inside = setFrom(kernel::readCgroupsInside(member));
    Prefixes prefixes;
    for (const auto& [controllers, path] : outside) {
        const std::string& seen = inside.at(controllers);
        const std::size_t rest = seen == "/" ? 0 : seen.size();
        if (path == "/" || rest == path.size())
            continue;  // the root of the cgroup namespace is the root of the hierarchy
        if (rest > path.size() || (rest != 0 && !path.ends_with(seen)))
            fail("process sees its cgroup {} of {} as {}", path, controllers, seen);
        prefixes.emplace(controllers, path.size() - rest);
    }
    views_.push_back(std::move(prefixes));
    return static_cast<CgroupNsView>(views_.size() - 1);
}

std::uint32_t CgroupDump::setOf(std::string_view groups, CgroupNsView view) {
    if (options_.cgroupMode == model::CgroupMode::Ignore || options_.unprivileged)
        return kOwnSet;
    const Set set = setFrom(kernel::parseCgroups(groups));
    const std::lock_guard lock(guard_);
    const auto [at, fresh] = sets_.try_emplace({view, set}, static_cast<std::uint32_t>(sets_.size() + 1));
    if (fresh)
        for (const auto& [controllers, path] : set)
            if (path == "/.." || path.starts_with("/../"))
                fail("is in cgroup {} of {}, outside of criu's cgroup namespace", path,
                     controllers.empty() ? "version 2" : controllers);
    return at->second;
}

std::string CgroupDump::rootOf(const std::string& controllers, const std::string& path) const {
    std::string root = path;
    for (const model::CgroupRoot& given : options_.cgroupRoots)
        if (given.controller.empty())
            root = given.path;
    for (const model::CgroupRoot& given : options_.cgroupRoots)
        if (!given.controller.empty() && given.controller == controllers)
            root = given.path;
    return root;
}

void CgroupDump::noteFreezer(bool unified, bool frozen) {
    constexpr mode_t kUsual = S_IFREG | 0644;
    if (!unified)
        freezer_ = std::make_unique<const std::pair<std::string, Property>>(
            "freezer", Property{"freezer.state", frozen ? "FROZEN" : "THAWED", kUsual, 0, 0});
    else if (frozen)
        freezer_ =
            std::make_unique<const std::pair<std::string, Property>>("", Property{"cgroup.freeze", "1", kUsual, 0, 0});
}

void CgroupDump::write(const ImageDir& images) {
    images.unlink(ImageKind::Cgroup);
    if (sets_.size() == 1)
        return;
    auto& entry = *arena_.make<CgroupEntry>();
    storeSets(entry);
    storeControllers(entry);
    ImageWriter image = images.create(ImageKind::Cgroup);
    image.write(entry);
    image.finish();
}

void CgroupDump::storeSets(CgroupEntry& entry) {
    entry.n_sets = sets_.size() - 1;
    entry.sets = arena_.messages<CgSetEntry>(entry.n_sets);
    for (const auto& [key, id] : sets_) {
        if (id == kOwnSet)
            continue;
        const auto& [view, set] = key;
        const Prefixes& prefixes = views_[static_cast<std::size_t>(view)];
        CgSetEntry& out = *entry.sets[id - kOwnSet - 1];
        out.id = id;
        out.n_ctls = set.size();
        out.ctls = arena_.messages<CgMemberEntry>(set.size());
        std::size_t next = 0;
        for (const auto& [controllers, path] : set) {
            CgMemberEntry& member = *out.ctls[next++];
            member.name = arena_.string(controllers);
            member.path = arena_.string(path);
            if (const auto prefix = prefixes.find(controllers); prefix != prefixes.end()) {
                if (path.size() < prefix->second)
                    fail("cgroup {} of {} is outside of its process' cgroup namespace", path, controllers);
                member.has_cgns_prefix = 1;
                member.cgns_prefix = static_cast<std::uint32_t>(prefix->second);
            }
        }
    }
}

void CgroupDump::storeControllers(CgroupEntry& entry) {
    // Stores a hierarchy without controllers only if a task is in one of its cgroups.
    std::vector<std::string> all = controllers_;
    for (const auto& [key, id] : sets_)
        for (const auto& [controllers, path] : key.second)
            if (id != kOwnSet && std::find(all.begin(), all.end(), controllers) == all.end())
                all.push_back(controllers);
    entry.n_controllers = all.size();
    entry.controllers = arena_.messages<CgControllerEntry>(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        CgControllerEntry& out = *entry.controllers[i];
        std::vector<std::string> names = split(all[i], ',');
        if (names.empty())
            names.emplace_back();  // the unified hierarchy has one empty name
        out.n_cnames = names.size();
        out.cnames = arena_.array<char*>(names.size());
        for (std::size_t name = 0; name < names.size(); ++name)
            out.cnames[name] = arena_.string(names[name]);
        const ErrorContext context([&] { return fmt::format("cgroups of {}", all[i].empty() ? "version 2" : all[i]); });
        storeGroups(all[i], out);
    }
}

void CgroupDump::storeGroups(const std::string& controllers, CgControllerEntry& entry) {
    std::set<std::string> paths;
    for (const auto& [key, id] : sets_)
        if (const auto member = key.second.find(controllers); id != kOwnSet && member != key.second.end())
            paths.insert(rootOf(controllers, member->second));
    // std::set sorts each cgroup before the cgroups below it, so heads come first.
    std::vector<std::string> heads;
    for (const std::string& path : paths)
        if (std::none_of(heads.begin(), heads.end(), [&](const std::string& head) { return isBelow(path, head); }))
            heads.push_back(path);
    bool threaded = !controllers.empty();
    entry.n_dirs = heads.size();
    entry.dirs = arena_.messages<CgroupDirEntry>(heads.size());
    for (std::size_t i = 0; i < heads.size(); ++i) {
        CgroupDirEntry& out = *entry.dirs[i];
        // Criu needs no data of the root of a hierarchy without controllers. The kernel may be removing this hierarchy.
        if (controllers.starts_with(kNamedPrefix) && heads[i] == "/") {
            out.dir_name = arena_.string("");
            continue;
        }
        const ErrorContext context([&] { return heads[i]; });
        const UniqueFd group = openGroup(hierarchies_->root(controllers), heads[i]);
        const bool isRoot = relative(heads[i]) == ".";
        out.dir_name = arena_.string(isRoot ? "" : relative(heads[i]));
        fillGroup(group.get(), controllers, out, threaded);
        if (freezer_ && freezer_->first == controllers)
            add(freezer_->second, out);
        // Skips the children of the hierarchy's root, because most of them contain no task of the tree. The cgroups of
        // the tree are heads themselves.
        if (!isRoot)
            fillChildren(group.get(), controllers, out, threaded, 1);
    }
    entry.has_is_threaded = 1;
    entry.is_threaded = threaded;
}

CgroupPropEntry* CgroupDump::store(const Property& property) {
    auto* const entry = arena_.make<CgroupPropEntry>();
    entry->name = arena_.string(property.name);
    entry->value = arena_.string(property.value);
    entry->perms = permissions(arena_, property.mode, property.uid, property.gid);
    return entry;
}

void CgroupDump::add(const Property& property, CgroupDirEntry& entry) {
    std::vector<CgroupPropEntry*> all;
    for (CgroupPropEntry* known : list(entry.properties, entry.n_properties))
        if (known->name != property.name)
            all.push_back(known);
    all.push_back(store(property));
    entry.n_properties = all.size();
    entry.properties = arena_.copy(std::span<CgroupPropEntry* const>(all));
}

void CgroupDump::fillGroup(int group, const std::string& controllers, CgroupDirEntry& entry, bool& threaded) {
    struct stat status {};
    sys(::fstat(group, &status), "look at it");
    entry.dir_perms = permissions(arena_, status.st_mode, status.st_uid, status.st_gid);

    const bool unified = controllers.empty();
    std::vector<CgroupPropEntry*> known;
    std::vector<CgroupPropEntry*> more;
    const auto read = [&](const PropertyTable::Names& names, std::vector<CgroupPropEntry*>& out) {
        for (const std::string& name : names)
            if (const auto property = readProperty(group, name)) {
                threaded = threaded || (name == "cgroup.type" && property->value == "threaded");
                out.push_back(store(*property));
            }
    };
    for (const std::string& controller : split(controllers, ','))
        read(table_.of(controller), known);
    read(PropertyTable::common(unified), known);
    if (unified)
        read(PropertyTable::unifiedControllers(), more);
    entry.n_properties = known.size();
    entry.properties = arena_.copy(std::span<CgroupPropEntry* const>(known));
    entry.n_more_properties = more.size();
    entry.more_properties = arena_.copy(std::span<CgroupPropEntry* const>(more));
}

void CgroupDump::fillChildren(int group, const std::string& controllers, CgroupDirEntry& entry, bool& threaded,
                              unsigned depth) {
    const std::vector<std::string> names = childrenOf(group);
    if (!names.empty() && depth == kDeepest)
        fail("more than {} cgroups are in each other", kDeepest);
    entry.n_children = names.size();
    entry.children = arena_.messages<CgroupDirEntry>(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
        const ErrorContext context([&] { return names[i]; });
        CgroupDirEntry& child = *entry.children[i];
        child.dir_name = arena_.string(names[i]);
        const UniqueFd fd(sys(::openat(group, names[i].c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open it"));
        fillGroup(fd.get(), controllers, child, threaded);
        fillChildren(fd.get(), controllers, child, threaded, depth + 1);
    }
}

}  // namespace criu::cgroup
