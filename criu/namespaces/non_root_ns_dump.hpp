// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "criu/namespaces/namespace_dump.hpp"

namespace criu::namespaces {

/// Non-root namespaces of one kind in a dump.
class NonRootNsDump {
public:
    struct Space {
        std::uint32_t inode;
        std::uint32_t number;  ///< namespace id
        const SeenProcess* member;
    };

    /// Assigns a namespace id to each namespace. Throws Error if the root has a private namespace but another process
    /// is in criu's. Throws Error if the options demand images for CRIU 4.2.
    NonRootNsDump(kernel::NamespaceKind kind, const DumpInputs& inputs);

    [[nodiscard]] bool empty() const noexcept { return spaces_.empty(); }
    [[nodiscard]] const std::vector<Space>& all() const noexcept { return spaces_; }
    /// Returns the namespace with an inode, or null if it isn't a non-root namespace. Valid until the next add().
    [[nodiscard]] const Space* find(std::uint32_t inode) const noexcept;
    /// Returns the namespace of a process, or null if the process is in the root's. Valid until the next add().
    [[nodiscard]] const Space* of(HostPid process) const;

    /// Adds a namespace to which a process refers, although the process isn't in it. Returns the namespace id.
    std::uint32_t add(std::uint32_t inode, const SeenProcess& process);

    /// Adds an extension name to the inventory if there are non-root namespaces, so that CRIU 4.2 refuses the images.
    void noteExtension(const DumpOutputs& outputs) const;

private:
    kernel::NamespaceKind kind_;
    const DumpInputs& inputs_;
    std::vector<Space> spaces_;
    /// Processes in non-root namespaces, with the index of the namespace in spaces_.
    std::map<HostPid, std::size_t> places_;
};

/// Dump half of a kind whose processes may be in several namespaces.
class NonRootNsKindDump : public NamespaceDump {
public:
    [[nodiscard]] std::uint32_t numberOf(HostPid process) const override;
    [[nodiscard]] std::optional<std::uint32_t> numberOfInode(std::uint32_t inode) const override;

protected:
    /// Time at which a restored process enters its namespace. The file plan may let any process open a descriptor of a
    /// namespace. That process opens the namespace in which it is at this time; with AfterItsFiles, this is the root's.
    enum class Enters { AfterItsFiles, BeforeItsFiles };

    NonRootNsKindDump(kernel::NamespaceKind kind, const DumpInputs& inputs, Enters enters)
        : NamespaceDump(kind, inputs), further_(kind, inputs), enters_(enters) {}

    NonRootNsDump further_;

private:
    Enters enters_;
};

}  // namespace criu::namespaces
