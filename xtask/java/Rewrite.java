import com.github.javaparser.ParserConfiguration;
import com.github.javaparser.StaticJavaParser;
import com.github.javaparser.ast.CompilationUnit;
import com.github.javaparser.ast.Modifier;
import com.github.javaparser.ast.Node;
import com.github.javaparser.ast.NodeList;
import com.github.javaparser.ast.body.ClassOrInterfaceDeclaration;
import com.github.javaparser.ast.body.FieldDeclaration;
import com.github.javaparser.ast.body.MethodDeclaration;
import com.github.javaparser.ast.body.Parameter;
import com.github.javaparser.ast.body.TypeDeclaration;
import com.github.javaparser.ast.body.VariableDeclarator;
import com.github.javaparser.ast.expr.AssignExpr;
import com.github.javaparser.ast.expr.BinaryExpr;
import com.github.javaparser.ast.expr.ClassExpr;
import com.github.javaparser.ast.expr.ConditionalExpr;
import com.github.javaparser.ast.expr.EnclosedExpr;
import com.github.javaparser.ast.expr.Expression;
import com.github.javaparser.ast.expr.FieldAccessExpr;
import com.github.javaparser.ast.expr.LambdaExpr;
import com.github.javaparser.ast.expr.LiteralExpr;
import com.github.javaparser.ast.expr.MethodCallExpr;
import com.github.javaparser.ast.expr.NameExpr;
import com.github.javaparser.ast.expr.ObjectCreationExpr;
import com.github.javaparser.ast.expr.PatternExpr;
import com.github.javaparser.ast.expr.ThisExpr;
import com.github.javaparser.ast.expr.UnaryExpr;
import com.github.javaparser.ast.expr.VariableDeclarationExpr;
import com.github.javaparser.ast.stmt.BlockStmt;
import com.github.javaparser.ast.stmt.ContinueStmt;
import com.github.javaparser.ast.stmt.ExpressionStmt;
import com.github.javaparser.ast.stmt.ForStmt;
import com.github.javaparser.ast.stmt.IfStmt;
import com.github.javaparser.ast.stmt.ReturnStmt;
import com.github.javaparser.ast.stmt.Statement;
import com.github.javaparser.ast.stmt.SynchronizedStmt;
import com.github.javaparser.ast.stmt.WhileStmt;
import com.github.javaparser.ast.type.ClassOrInterfaceType;
import com.github.javaparser.ast.type.PrimitiveType;
import com.github.javaparser.ast.type.VarType;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Writes programs in another way that means the same: {@code Rewrite FROM TO WAY}. Programs that the way does not change
 * are left out.
 */
final class Rewrite {
    private int changes;
    private int names;

    public static void main(String[] words) throws IOException {
        StaticJavaParser.getParserConfiguration().setLanguageLevel(ParserConfiguration.LanguageLevel.JAVA_17);
        Path from = Path.of(words[0]);
        Path to = Path.of(words[1]);
        List<Path> programs;
        try (var folders = Files.list(from)) {
            programs = folders.filter(folder -> Files.exists(folder.resolve("truth.json"))).sorted().toList();
        }
        for (Path program : programs) {
            new Rewrite().program(program, to.resolve(program.getFileName().toString()), words[2]);
        }
    }

    private void program(Path from, Path to, String way) throws IOException {
        List<Path> sources;
        try (var files = Files.walk(from)) {
            sources = files.filter(file -> file.toString().endsWith(".java")).sorted().toList();
        }
        Map<Path, CompilationUnit> units = new LinkedHashMap<>();
        for (Path source : sources) {
            CompilationUnit unit = StaticJavaParser.parse(source);
            rewrite(unit, way);
            units.put(to.resolve(from.relativize(source).toString()), unit);
        }
        if (changes == 0 && !way.equals("same")) {
            return;
        }
        for (Map.Entry<Path, CompilationUnit> unit : units.entrySet()) {
            Files.createDirectories(unit.getKey().getParent());
            Files.writeString(unit.getKey(), unit.getValue().toString());
        }
        Files.copy(from.resolve("truth.json"), to.resolve("truth.json"));
    }

    private void rewrite(CompilationUnit unit, String way) {
        switch (way) {
            case "same" -> { }
            case "blocks" -> blocks(unit);
            case "conditions" -> conditions(unit);
            case "inverted" -> inverted(unit);
            case "nested" -> nested(unit);
            case "getters" -> getters(unit);
            case "setters" -> setters(unit);
            case "arguments" -> arguments(unit);
            case "results" -> results(unit);
            case "loops" -> loops(unit);
            case "delegates" -> delegates(unit);
            case "choices" -> choices(unit);
            default -> throw new IllegalArgumentException(way);
        }
    }

    /** Synchronized methods become methods with one synchronized block. */
    private void blocks(CompilationUnit unit) {
        for (MethodDeclaration method : unit.findAll(MethodDeclaration.class)) {
            if (!method.isSynchronized() || method.getBody().isEmpty() || isAnonymous(method)) {
                continue;
            }
            Expression lock = new ThisExpr();
            if (method.isStatic()) {
                TypeDeclaration<?> type = (TypeDeclaration<?>) method.getParentNode().orElseThrow();
                lock = new ClassExpr(new ClassOrInterfaceType(null, type.getNameAsString()));
            }
            method.setSynchronized(false);
            method.setBody(block(new SynchronizedStmt(lock, method.getBody().get().clone())));
            changes++;
        }
    }

    /** Conditions are kept in a local first. */
    private void conditions(CompilationUnit unit) {
        for (IfStmt branch : unit.findAll(IfStmt.class)) {
            if (!(branch.getParentNode().orElse(null) instanceof BlockStmt block) || hasPattern(branch.getCondition())) {
                continue;
            }
            String name = fresh("condition");
            Expression condition = branch.getCondition().clone();
            branch.setCondition(new NameExpr(name));
            VariableDeclarator local = new VariableDeclarator(PrimitiveType.booleanType(), name, condition);
            block.addStatement(block.getStatements().indexOf(branch), declaration(local));
            changes++;
        }
    }

    /** Instead of returning early, the rest of a method is done on a condition. */
    private void inverted(CompilationUnit unit) {
        for (MethodDeclaration method : unit.findAll(MethodDeclaration.class)) {
            if (method.getBody().isEmpty() || !method.getType().isVoidType()) {
                continue;
            }
            BlockStmt body = method.getBody().get();
            for (int i = body.getStatements().size() - 2; i >= 0; i--) {
                if (!(body.getStatement(i) instanceof IfStmt branch) || branch.hasElseBranch()
                        || hasPattern(branch.getCondition()) || !isReturn(branch.getThenStmt())) {
                    continue;
                }
                BlockStmt rest = new BlockStmt();
                while (body.getStatements().size() > i + 1) {
                    rest.addStatement(body.getStatements().remove(i + 1).clone());
                }
                Expression not = new UnaryExpr(
                        new EnclosedExpr(branch.getCondition().clone()), UnaryExpr.Operator.LOGICAL_COMPLEMENT);
                body.setStatement(i, new IfStmt(not, rest, null));
                changes++;
            }
        }
    }

    /** Two conditions that are joined by `&&` become one inside the other. */
    private void nested(CompilationUnit unit) {
        for (IfStmt branch : unit.findAll(IfStmt.class)) {
            if (!branch.hasElseBranch() && branch.getCondition() instanceof BinaryExpr both
                    && both.getOperator() == BinaryExpr.Operator.AND) {
                IfStmt inner = new IfStmt(both.getRight().clone(), branch.getThenStmt().clone(), null);
                Expression outer = both.getLeft().clone();
                branch.setThenStmt(block(inner));
                branch.setCondition(outer);
                changes++;
            }
        }
    }

    /** Private fields are read through private getters. */
    private void getters(CompilationUnit unit) {
        for (ClassOrInterfaceDeclaration type : unit.findAll(ClassOrInterfaceDeclaration.class)) {
            Map<String, FieldDeclaration> fields = privateFields(type);
            Set<String> used = new TreeSet<>();
            for (MethodDeclaration method : plainMethods(type)) {
                for (Expression expression : method.findAll(Expression.class)) {
                    String field = fieldOf(expression, fields, method);
                    Node parent = expression.getParentNode().orElseThrow();
                    boolean isWritten = parent instanceof AssignExpr assignment && assignment.getTarget() == expression
                            || parent instanceof UnaryExpr step && step.getOperator().name().endsWith("CREMENT");
                    if (field != null && !isWritten) {
                        used.add(field);
                        expression.replace(new MethodCallExpr("read" + capital(field)));
                        changes++;
                    }
                }
            }
            for (String field : used) {
                MethodDeclaration getter = type.addMethod("read" + capital(field), Modifier.Keyword.PRIVATE);
                getter.setType(fields.get(field).getVariable(0).getType().clone());
                getter.setBody(StaticJavaParser.parseBlock("{ return this." + field + "; }"));
            }
        }
    }

    /** Private fields are written through private setters. */
    private void setters(CompilationUnit unit) {
        for (ClassOrInterfaceDeclaration type : unit.findAll(ClassOrInterfaceDeclaration.class)) {
            Map<String, FieldDeclaration> fields = privateFields(type);
            Set<String> used = new TreeSet<>();
            for (MethodDeclaration method : plainMethods(type)) {
                for (ExpressionStmt statement : method.findAll(ExpressionStmt.class)) {
                    // A lambda of one assignment may yield what is assigned.
                    if (!(statement.getExpression() instanceof AssignExpr assignment)
                            || assignment.getOperator() != AssignExpr.Operator.ASSIGN
                            || statement.getParentNode().orElse(null) instanceof LambdaExpr) {
                        continue;
                    }
                    String field = fieldOf(assignment.getTarget(), fields, method);
                    if (field != null) {
                        used.add(field);
                        Expression value = assignment.getValue().clone();
                        statement.setExpression(new MethodCallExpr("write" + capital(field), value));
                        changes++;
                    }
                }
            }
            for (String field : used) {
                MethodDeclaration setter = type.addMethod("write" + capital(field), Modifier.Keyword.PRIVATE);
                setter.addParameter(fields.get(field).getVariable(0).getType().clone(), "written");
                setter.setBody(StaticJavaParser.parseBlock("{ this." + field + " = written; }"));
            }
        }
    }

    /** Arguments that are computed are kept in locals first. */
    private void arguments(CompilationUnit unit) {
        for (ExpressionStmt statement : unit.findAll(ExpressionStmt.class)) {
            if (!(statement.getParentNode().orElse(null) instanceof BlockStmt block)
                    || !(statement.getExpression() instanceof MethodCallExpr call)
                    || call.getScope().isPresent() && !call.getScope().get().isNameExpr()) {
                continue;
            }
            for (int i = 0; i < call.getArguments().size(); i++) {
                Expression argument = call.getArgument(i);
                if (argument instanceof NameExpr || argument instanceof LiteralExpr) {
                    continue;
                }
                boolean isComputed = argument instanceof MethodCallExpr || argument instanceof BinaryExpr;
                if (!isComputed || !argument.findAll(LambdaExpr.class).isEmpty()) {
                    break;
                }
                String name = fresh("argument");
                VariableDeclarator local = new VariableDeclarator(new VarType(), name, argument.clone());
                block.addStatement(block.getStatements().indexOf(statement), declaration(local));
                call.setArgument(i, new NameExpr(name));
                changes++;
            }
        }
    }

    /** What is returned is kept in a local first. */
    private void results(CompilationUnit unit) {
        for (MethodDeclaration method : unit.findAll(MethodDeclaration.class)) {
            for (ReturnStmt statement : method.findAll(ReturnStmt.class)) {
                boolean isOwn = !(around(statement) instanceof LambdaExpr) && around(statement) == method;
                if (!isOwn || statement.getExpression().isEmpty()
                        || !(statement.getParentNode().orElse(null) instanceof BlockStmt block)) {
                    continue;
                }
                Expression value = statement.getExpression().get();
                if (value instanceof NameExpr || value instanceof LiteralExpr) {
                    continue;
                }
                String name = fresh("result");
                VariableDeclarator local = new VariableDeclarator(method.getType().clone(), name, value.clone());
                block.addStatement(block.getStatements().indexOf(statement), declaration(local));
                statement.setExpression(new NameExpr(name));
                changes++;
            }
        }
    }

    /** Loops with a counter become loops with a condition. */
    private void loops(CompilationUnit unit) {
        for (ForStmt loop : unit.findAll(ForStmt.class)) {
            if (!loop.findAll(ContinueStmt.class).isEmpty() || loop.getCompare().isEmpty()
                    || !(loop.getParentNode().orElse(null) instanceof BlockStmt)) {
                continue;
            }
            BlockStmt outside = new BlockStmt();
            loop.getInitialization().forEach(first -> outside.addStatement(new ExpressionStmt(first.clone())));
            BlockStmt body = loop.getBody() instanceof BlockStmt block ? block.clone() : block(loop.getBody().clone());
            loop.getUpdate().forEach(step -> body.addStatement(new ExpressionStmt(step.clone())));
            outside.addStatement(new WhileStmt(loop.getCompare().get().clone(), body));
            loop.replace(outside);
            changes++;
        }
    }

    /** Methods call a private method that does what they did; its name says whose it is. */
    private void delegates(CompilationUnit unit) {
        for (ClassOrInterfaceDeclaration type : unit.findAll(ClassOrInterfaceDeclaration.class)) {
            for (MethodDeclaration method : new ArrayList<>(type.getMethods())) {
                if (type.isInterface() || method.getBody().isEmpty() || !method.getTypeParameters().isEmpty()
                        || method.isSynchronized() || method.getNameAsString().equals("main")
                        || method.getParameters().stream().anyMatch(Parameter::isVarArgs)
                        || method.getBody().get().getStatements().size() < 2) {
                    continue;
                }
                MethodDeclaration inner = type.addMethod(method.getNameAsString() + "Inner", Modifier.Keyword.PRIVATE);
                inner.setStatic(method.isStatic());
                inner.setType(method.getType().clone());
                method.getThrownExceptions().forEach(thrown -> inner.addThrownException(thrown.clone()));
                MethodCallExpr call = new MethodCallExpr(inner.getNameAsString());
                method.getParameters().forEach(parameter -> {
                    inner.addParameter(parameter.clone());
                    call.addArgument(parameter.getNameAsString());
                });
                inner.setBody(method.getBody().get().clone());
                boolean isVoid = method.getType().isVoidType();
                method.setBody(block(isVoid ? new ExpressionStmt(call) : new ReturnStmt(call)));
                changes++;
            }
        }
    }

    /** Returned choices become branches. */
    private void choices(CompilationUnit unit) {
        for (ReturnStmt statement : unit.findAll(ReturnStmt.class)) {
            if (statement.getExpression().orElse(null) instanceof ConditionalExpr choice
                    && statement.getParentNode().orElse(null) instanceof BlockStmt) {
                statement.replace(new IfStmt(
                        choice.getCondition().clone(),
                        block(new ReturnStmt(choice.getThenExpr().clone())),
                        block(new ReturnStmt(choice.getElseExpr().clone()))));
                changes++;
            }
        }
    }

    private String fresh(String stem) {
        return stem + "Of" + names++;
    }

    private static BlockStmt block(Statement only) {
        return new BlockStmt(NodeList.nodeList(only));
    }

    private static ExpressionStmt declaration(VariableDeclarator local) {
        return new ExpressionStmt(new VariableDeclarationExpr(local));
    }

    private static boolean isReturn(Statement statement) {
        return statement instanceof ReturnStmt
                || statement instanceof BlockStmt block && block.getStatements().size() == 1 && isReturn(block.getStatement(0));
    }

    private static boolean isAnonymous(MethodDeclaration method) {
        return method.getParentNode().orElse(null) instanceof ObjectCreationExpr;
    }

    private static boolean hasPattern(Expression expression) {
        return !expression.findAll(PatternExpr.class).isEmpty();
    }

    private static String capital(String name) {
        return Character.toUpperCase(name.charAt(0)) + name.substring(1) + "Field";
    }

    /** The method or lambda that a statement is in. */
    private static Node around(Node statement) {
        Node node = statement;
        while (!(node instanceof MethodDeclaration) && !(node instanceof LambdaExpr)) {
            node = node.getParentNode().orElseThrow();
        }
        return node;
    }

    private static Map<String, FieldDeclaration> privateFields(ClassOrInterfaceDeclaration type) {
        Map<String, FieldDeclaration> fields = new LinkedHashMap<>();
        for (FieldDeclaration field : type.getFields()) {
            if (field.isPrivate() && !field.isFinal() && !field.isStatic() && field.getVariables().size() == 1) {
                fields.put(field.getVariable(0).getNameAsString(), field);
            }
        }
        return fields;
    }

    /** Methods in which `this` is always the object itself. */
    private static List<MethodDeclaration> plainMethods(ClassOrInterfaceDeclaration type) {
        List<MethodDeclaration> methods = new ArrayList<>(type.getMethods());
        methods.removeIf(method -> method.isStatic()
                || !method.findAll(ObjectCreationExpr.class, made -> made.getAnonymousClassBody().isPresent()).isEmpty());
        return methods;
    }

    /** The field that an expression names, if no local has the same name. */
    private static String fieldOf(Expression expression, Map<String, FieldDeclaration> fields, MethodDeclaration method) {
        if (expression instanceof FieldAccessExpr access && access.getScope().isThisExpr()) {
            return fields.containsKey(access.getNameAsString()) ? access.getNameAsString() : null;
        }
        if (!(expression instanceof NameExpr name) || !fields.containsKey(name.getNameAsString())) {
            return null;
        }
        Set<String> locals = new HashSet<>();
        method.findAll(VariableDeclarator.class).forEach(local -> locals.add(local.getNameAsString()));
        method.findAll(Parameter.class).forEach(parameter -> locals.add(parameter.getNameAsString()));
        return locals.contains(name.getNameAsString()) ? null : name.getNameAsString();
    }
}
