// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>

#include "criu/image/image_dir.hpp"

/// Host and domain name (uts_namespaces(7)).
namespace criu::namespaces {

/// The names of the calling thread's UTS namespace.
class UtsDump {
public:
    /// `number`: of the namespace, in images.
    explicit UtsDump(std::uint32_t number) : number_(number) {}
    void write(const ImageDir& images) const;

private:
    std::uint32_t number_;
};

class UtsRestore {
public:
    /// Reads and checks the image. Throws Error.
    UtsRestore(const ImageDir& images, std::uint32_t number);

    /// Names the calling thread's UTS namespace.
    void fill() const;

private:
    std::string host_;
    std::string domain_;
};

}  // namespace criu::namespaces
