// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {TestToken} from "./TestToken.sol";

/// Lends newly minted tokens within one transaction (ERC-3156). The tokens are minted for the borrower, and burned at
/// the end.
contract FlashToken is TestToken {
    constructor(string memory name_, string memory symbol_, uint8 decimals_)
        TestToken(name_, symbol_, decimals_)
    {}

    function flashMint(address borrower, uint256 amount, bytes calldata data) external {
        totalSupply += amount;
        balanceOf[borrower] += amount;
        emit Transfer(address(0), borrower, amount);
        (bool done, ) = borrower.call(data);
        require(done);
        _take(borrower, amount);
        totalSupply -= amount;
        emit Transfer(borrower, address(0), amount);
    }
}

/// A contract of a merchant. It lends its money within one transaction, and every caller can have it forward received
/// money.
contract LendingShop {
    receive() external payable {}

    fallback() external payable {}

    function lend(TestToken token, address borrower, uint256 amount, bytes calldata data) external {
        uint256 before = token.balanceOf(address(this));
        token.transfer(borrower, amount);
        (bool done, ) = borrower.call(data);
        require(done && token.balanceOf(address(this)) >= before);
    }

    function lendCoins(address borrower, uint256 amount, bytes calldata data) external {
        uint256 before = address(this).balance;
        (bool done, ) = borrower.call{value: amount}(data);
        require(done && address(this).balance >= before);
    }

    function passOn(TestToken token, address to, uint256 amount) external {
        token.transfer(to, amount);
    }
}

/// Forwards received coin in the same call.
contract ForwardingShop {
    address payable public immutable till;

    constructor(address payable till_) {
        till = till_;
    }

    fallback() external payable {
        _pass();
    }

    receive() external payable {
        _pass();
    }

    function _pass() private {
        (bool done, ) = till.call{value: msg.value}("");
        require(done);
    }
}

/// Limit orders, like those of 1inch. The contract moves the maker's tokens by a call, and the maker can add bytes at
/// the end of this call.
contract SuffixOrders {
    struct Order {
        address maker;
        address gives;
        uint256 given;
        address takes;
        uint256 taken;
        bytes suffix;
    }

    Order[] internal orders;

    function place(address gives, uint256 given, address takes, uint256 taken, bytes calldata suffix) external {
        orders.push(Order(msg.sender, gives, given, takes, taken, suffix));
    }

    /// Exchange with the caller. The maker's tokens go to `to`.
    function fill(uint256 number, address to) external {
        Order memory order = orders[number];
        _move(order.takes, msg.sender, order.maker, order.taken, "");
        _move(order.gives, order.maker, to, order.given, order.suffix);
    }

    function _move(address token, address from, address to, uint256 amount, bytes memory suffix) private {
        bytes memory call = abi.encodeCall(TestToken.transferFrom, (from, to, amount));
        (bool done, ) = token.call(abi.encodePacked(call, suffix));
        require(done);
    }
}

/// Pays in many transfers, and the recipient pays back in equally many.
contract Swarm {
    function pay(TestToken token, address to, uint256 times, bytes calldata tail) external {
        bytes memory call = abi.encodePacked(abi.encodeCall(token.transfer, (to, 1)), tail);
        for (uint256 i = 0; i < times; i++) {
            (bool done, ) = address(token).call(call);
            require(done);
        }
    }
}
