// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/encrypting_outlet.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/image/catalogue.hpp"
#include "criu/image/encrypted_format.hpp"
#include "criu/image/writer.hpp"
#include "images/encryption.hpp"
#include "images/inventory.hpp"

namespace criu {

using crypto::kTagSize;

class EncryptingOutlet::EncryptedFile final : public ImageOutlet::File {
public:
    EncryptedFile(EncryptingOutlet& owner, std::unique_ptr<File> to, Listed& listed, crypto::SecretBytes key)
        : owner_(owner), to_(std::move(to)), listed_(listed), key_(std::move(key)) {
        to_->write(0, encrypted::head());
    }

    void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
        while (!bytes.empty()) {
            const auto piece = bytes.first(std::min(bytes.size(), kEncryptedBlock));
            writeBlock(offset, piece);
            offset += piece.size();
            bytes = bytes.subspan(piece.size());
        }
    }

    void finish(std::uint64_t size) override {
        const std::lock_guard lock(mutex_);
        to_->finish(end_);
        listed_.size = size;
        listed_.complete = true;
    }

private:
    void writeBlock(std::uint64_t offset, std::span<const std::byte> plain) {
        const std::size_t sealed = plain.size() + kTagSize;
        std::uint64_t number = 0;
        std::uint64_t place = 0;
        {
            const std::lock_guard lock(mutex_);
            number = listed_.blocks.size();
            place = std::exchange(end_, end_ + sealed);
            listed_.blocks.push_back({offset, static_cast<std::uint32_t>(plain.size())});
        }
        BufferPool::Use buffer(owner_.buffers_);
        owner_.key().ciphers().seal(key_.bytes(), {number, 0}, encrypted::placeOf(offset), plain, buffer.first(sealed));
        to_->write(place, buffer.first(sealed));
    }

    EncryptingOutlet& owner_;
    const std::unique_ptr<File> to_;
    Listed& listed_;
    const crypto::SecretBytes key_;
    std::mutex mutex_;
    std::uint64_t end_ = encrypted::head().size();  ///< present size of the encrypted file in bytes
};

EncryptingOutlet::EncryptingOutlet(std::unique_ptr<ImageOutlet> to, std::vector<crypto::PublicKey> recipients,
                                   std::unique_ptr<const DumpKey> key, const EncryptedSet& set)
    : to_(std::move(to)),
      recipients_(std::move(recipients)),
      key_(std::move(key)),
      set_(set),
      buffers_(kEncryptedBlock + kTagSize) {
    if (to_->inOrder())
        fail("encrypted images can't go where bytes have to come in order");
}

EncryptingOutlet::~EncryptingOutlet() = default;

std::unique_ptr<ImageOutlet::File> EncryptingOutlet::create(const std::string& name) {
    Listed* listed = nullptr;
    std::uint64_t number = 0;
    {
        const std::lock_guard lock(mutex_);
        listed = files_.emplace_back(std::make_unique<Listed>()).get();
        listed->name = name;
        number = files_.size();
    }
    return std::make_unique<EncryptedFile>(*this, to_->create(imageName(set_.files, number)), *listed,
                                           key().ofFile(number, isRecord(name)));
}

std::vector<std::byte> EncryptingOutlet::list() const {
    std::vector<std::byte> bytes;
    for (const auto& listed : files_) {
        if (!listed->complete)
            fail("{} is incomplete", listed->name);
        std::vector<std::uint64_t> offsets;
        std::vector<std::uint32_t> sizes;
        for (const Block& block : listed->blocks) {
            offsets.push_back(block.offset);
            sizes.push_back(block.size);
        }
        EncryptedFileEntry entry = ENCRYPTED_FILE_ENTRY__INIT;
        entry.name = listed->name.data();
        entry.size = listed->size;
        entry.n_offsets = offsets.size();
        entry.offsets = offsets.data();
        entry.n_sizes = sizes.size();
        entry.sizes = sizes.data();
        std::vector<std::byte> image = imageOf(set_.files, entry.base);
        const auto from = bytes.empty() ? image.begin() : image.begin() + encrypted::head().size();
        bytes.insert(bytes.end(), from, image.end());
    }
    return bytes;
}

void EncryptingOutlet::writeList() {
    const std::vector<std::byte> plain = list();
    const crypto::SecretBytes key = key_->ofFile(encrypted::kListFile, true);
    const auto file = to_->create(imageName(set_.files, encrypted::kListFile));
    const auto head = encrypted::head();
    file->write(0, head);
    std::uint64_t place = head.size();
    std::span<const std::byte> rest(plain);
    for (std::uint64_t number = 0;; ++number) {
        const auto piece = rest.first(std::min(rest.size(), kEncryptedBlock));
        rest = rest.subspan(piece.size());
        BufferPool::Use buffer(buffers_);
        const auto sealed = buffer.first(piece.size() + kTagSize);
        key_->ciphers().seal(key.bytes(), {number, rest.empty() ? encrypted::kLastOfList : 0}, {}, piece, sealed);
        file->write(place, sealed);
        place += sealed.size();
        if (rest.empty())
            break;
    }
    file->finish(place);
}

void EncryptingOutlet::writeWhole(const std::string& name, crypto::Bytes content) {
    const auto file = to_->create(name);
    file->write(0, content);
    file->finish(content.size());
}

void EncryptingOutlet::finish() {
    writeList();
    writeWhole(imageName(set_.head), key_->head(recipients_, set_));
    if (set_.head == kDumpSet.head)
        writeInventory();
    to_->finish();
}

void EncryptingOutlet::writeInventory() {
    InventoryEntry inventory = INVENTORY_ENTRY__INIT;
    std::string extension(kEncrypted);
    char* extensions[] = {extension.data()};
    inventory.img_version = kExtendedVersion;
    // CRIU 4.2 checks this field before the version. If the field were missing, CRIU 4.2 would print a misleading
    // error.
    inventory.has_fdinfo_per_id = inventory.fdinfo_per_id = 1;
    inventory.n_extensions = std::size(extensions);
    inventory.extensions = extensions;
    writeWhole(imageName(ImageKind::Inventory), imageOf(ImageKind::Inventory, inventory.base));
}

}  // namespace criu
