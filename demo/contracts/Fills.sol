// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {PackedUserOperation} from "./Bundles.sol";
import {TestToken} from "./TestToken.sol";

interface Pullable {
    function transferFrom(address from, address to, uint256 value) external returns (bool);
}

/// Pays the order of another customer with tokens of the relayer that calls `fill`.
contract FillPool {
    event Filled(address indexed relayer, uint256 amount);

    function fill(Pullable token, address to, uint256 amount) external {
        require(token.transferFrom(msg.sender, to, amount));
        emit Filled(msg.sender, amount);
    }
}

/// A contract that looks like a Safe or an ERC-4337 account. It makes another call than the requested one, but reports
/// success. An impostor can be the delegate of an EIP-7702 account, the implementation of a proxy, or a separate
/// contract.
contract Impostor {
    struct Call {
        address target;
        uint256 value;
        bytes data;
    }

    event ExecutionSuccess(bytes32 indexed txHash, uint256 payment);

    receive() external payable {}

    /// Make the hidden call at the end of the call data.
    fallback() external payable {
        uint256 length = uint256(bytes32(msg.data[msg.data.length - 32:]));
        bytes calldata hidden = msg.data[msg.data.length - 32 - length:msg.data.length - 32];
        (bool done, ) = address(bytes20(hidden[:20])).call(hidden[20:]);
        require(done);
        if (bytes4(msg.data[:4]) == 0x6a761202) emit ExecutionSuccess(0, 0);
    }
}

/// The delegate of an EIP-7702 account. Runs a batch for every caller, and checks nothing.
contract OpenBatch {
    struct Call {
        address target;
        uint256 value;
        bytes data;
    }

    receive() external payable {}

    function executeBatch(Call[] calldata calls) external payable {
        for (uint256 i = 0; i < calls.length; i++) {
            (bool done, ) = calls[i].target.call{value: calls[i].value}(calls[i].data);
            require(done);
        }
    }
}

/// A lending token. When it pays the recipient, it also logs the recipient's interest, as newly minted tokens.
contract InterestToken is TestToken {
    uint256 public interest;

    constructor(string memory name_, string memory symbol_, uint8 decimals_)
        TestToken(name_, symbol_, decimals_)
    {}

    function accrue(uint256 amount) external {
        interest = amount;
    }

    function _transfer(address from, address to, uint256 value) internal override {
        uint256 due = interest;
        interest = 0;
        if (due > 0) {
            balanceOf[to] += due;
            emit Transfer(address(0), to, due);
            // The interest of the sender is also moved to the recipient, and logged separately.
            balanceOf[to] += due;
            emit Transfer(from, to, due);
        }
        super._transfer(from, to, value);
    }
}

/// A token that returns false if the balance is too small. It doesn't revert.
contract LenientToken is TestToken {
    constructor(string memory name_, string memory symbol_, uint8 decimals_)
        TestToken(name_, symbol_, decimals_)
    {}

    function transfer(address to, uint256 value) external override returns (bool) {
        if (balanceOf[msg.sender] < value) return false;
        _transfer(msg.sender, to, value);
        return true;
    }
}

/// A paymaster that pays for any operation. After the operation, but before the operation's event, it makes its own
/// calls.
contract MeddlingPaymaster {
    struct Call {
        address target;
        bytes data;
    }

    Call[] internal calls;

    receive() external payable {}

    function load(address target, bytes calldata data) external {
        calls.push(Call(target, data));
    }

    function deposit(address entryPoint) external payable {
        (bool done, ) = entryPoint.call{value: msg.value}(
            abi.encodeWithSignature("depositTo(address)", address(this))
        );
        require(done);
    }

    function validatePaymasterUserOp(PackedUserOperation calldata, bytes32, uint256)
        external
        pure
        returns (bytes memory context, uint256)
    {
        return ("x", 0);
    }

    function postOp(uint8, bytes calldata, uint256, uint256) external {
        for (uint256 i = 0; i < calls.length; i++) {
            (bool done, ) = calls[i].target.call(calls[i].data);
            require(done);
        }
    }
}

/// A module, or another contract, that makes any call for any caller.
contract Accomplice {
    address internal target;
    bytes internal data;

    function load(address target_, bytes calldata data_) external {
        target = target_;
        data = data_;
    }

    fallback() external payable {
        (bool done, ) = target.call(data);
        require(done);
    }
}

/// Sends received coin back.
contract BouncingShop {
    receive() external payable {
        (bool done, ) = msg.sender.call{value: msg.value}("");
        require(done);
    }
}

/// Keeps received coin, and runs code when it is paid.
contract CountingShop {
    uint256 public payments;

    receive() external payable {
        payments++;
    }
}

/// The code of an ERC-4337 account behind a proxy. It treats every operation as signed. Instead of the requested call,
/// it makes a call that was stored before by `load`.
contract ForgedAccount {
    address internal target;
    bytes internal data;

    receive() external payable {}

    function load(address target_, bytes calldata data_) external {
        target = target_;
        data = data_;
    }

    function validateUserOp(PackedUserOperation calldata, bytes32, uint256 missing) external returns (uint256) {
        (bool done, ) = msg.sender.call{value: missing}("");
        require(done);
        return 0;
    }

    function execute(address, uint256, bytes calldata) external {
        (bool done, ) = target.call(data);
        require(done);
    }
}

/// A contract that pays in its constructor.
contract PayingBirth {
    constructor(address payable recipient, bytes memory data) payable {
        (bool done, ) = recipient.call{value: msg.value}(data);
        require(done);
    }
}

/// A second address of a token. It forwards calls to the token, and both log the transfer.
contract SecondAddress {
    TestToken public immutable token;

    event Transfer(address indexed from, address indexed to, uint256 value);

    constructor(TestToken token_) {
        token = token_;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        require(token.transferFrom(msg.sender, to, value));
        emit Transfer(msg.sender, to, value);
        return true;
    }
}
